"""What is repaired in a hand-in before anything runs."""

from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_markdown_cell
from nbgrader.preprocessors import NbGraderPreprocessor


def grade_id(cell: NotebookNode) -> str | None:
    """The cell's grade id, or None for a cell that nbgrader does not know."""
    meta = cell.metadata.get("nbgrader")
    return (meta.get("grade_id") or None) if isinstance(meta, dict) else None


def resolve_duplicates(nb: NotebookNode) -> list[str]:
    """Leave each grade id on its last copy only; return one sentence for each cell that was repaired.

    The last copy counts because it is the one whose code ran last. The other copies stay in the notebook as the
    student's own cells. They lose their whole nbgrader metadata: with an empty ``{}`` left behind, as nbgrader's
    DeduplicateIds does, nbgrader takes the notebook for one of an old format and stops the whole class.
    Each gets a note above it, so that the student finds it in the feedback.
    """
    last = {grade_id(cell): place for place, cell in enumerate(nb.cells)}
    counts: dict[str, int] = {}
    for cell in nb.cells:
        if name := grade_id(cell):
            counts[name] = counts.get(name, 0) + 1
    cells, repaired = [], []
    for place, cell in enumerate(nb.cells):
        name = grade_id(cell)
        if name is None:
            cell.metadata.pop("nbgrader", None)  # no name, so nothing that nbgrader could grade
        elif place != last[name]:
            del cell.metadata["nbgrader"]
            if "manyheads" in cell.metadata:
                cell.metadata["manyheads"] = {"role": "student"}
            cells.append(_note(f"**A copied cell.** The cell `{name}` is {_times(counts[name])} in this notebook. "
                               "Only the last copy is graded; the one below is not.", len(cells), nb))
        cells.append(cell)
    for name, count in counts.items():
        if count > 1:
            repaired.append(f"The cell {name!r} was there {_times(count)}: the last copy was graded.")
    nb.cells = cells
    return repaired


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count} times"


def _note(text: str, place: int, nb: NotebookNode) -> NotebookNode:
    note = new_markdown_cell(text, metadata={"manyheads": {"role": "note"}})
    if (nb.nbformat, nb.nbformat_minor) < (4, 5):
        del note["id"]  # older notebooks have no cell ids
    else:
        note["id"] = f"note-{place}"
    return note


class ResolveDuplicates(NbGraderPreprocessor):
    """Stands in for nbgrader's DeduplicateIds while a hand-in is sanitised.

    What was repaired is logged for the instructor and kept in ``metadata.manyheads.repaired`` of the autograded
    notebook, from where the feedback tells the student.
    """

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        repaired = resolve_duplicates(nb)
        who = resources.get("nbgrader", {})
        for sentence in repaired:
            self.log.warning("%s, %s: %s", who.get("student"), who.get("notebook"), sentence)
        kept = nb.metadata.get("manyheads")
        kept = dict(kept) if isinstance(kept, dict) else {}
        nb.metadata["manyheads"] = {**kept, "repaired": repaired}  # never what the student wrote there
        return nb, resources


class ForgetRemovedCells(NbGraderPreprocessor):
    """Takes the rest of nbgrader's metadata off cells that the gradebook does not know.

    They come from an older release of a lesson, or from another lesson. OverwriteCells removes their grade id only,
    and nbgrader's check of the metadata then refuses the whole hand-in: so this stands between the two.
    """

    def preprocess_cell(self, cell: NotebookNode, resources: dict, index: int) -> tuple[NotebookNode, dict]:
        if grade_id(cell) is None and cell.metadata.pop("nbgrader", None) is not None and "manyheads" in cell.metadata:
            cell.metadata["manyheads"] = {"role": "student"}
        return cell, resources
