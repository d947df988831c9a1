"""Take a source notebook that was edited in JupyterLab back into its lesson text."""

import shutil

import nbformat

from .build import edited_by_hand, helper_hashes, mark_as_seen
from .lesson import (
    Course,
    Problem,
    Refused,
    cell_label,
    compact_notebook,
    fingerprint,
    lesson_text,
    read_lesson,
    read_notebook,
    role_of,
    write_lesson,
)


def adopt(course: Course, lesson: str, force: bool = False) -> list[str]:
    """Write lessons/LESSON.md (and its helper files) from source/LESSON/ and say in lines what was done.

    Cells that nobody edited keep their text. Raises Refused if there is nothing to read, if the text was changed too
    since the build (unless `force`), or if the notebook holds something that a text cannot.
    """
    path = course.notebook("source", lesson)
    if not path.is_file():
        raise Refused(lesson, Problem(None, f"there is no source/{lesson}/{lesson}.ipynb", "Build the lesson first."))
    notebook = read_notebook(path, lesson)
    if not edited_by_hand(course, lesson):
        return [f"source/{lesson}/ is as the build left it: nothing to adopt."]
    text = course.text(lesson)
    old = lesson_text(course, lesson) if text.is_file() else None
    if old is not None and not force:
        _refuse_losing(lesson, old, notebook)
    new = _as_text(lesson, notebook)
    said = []
    if new != old:
        beside = text.with_suffix(".md.new")
        beside.write_text(new, encoding="utf-8")
        beside.replace(text)
        said.append(f"lessons/{lesson}.md: written from the notebook")
        if old is not None and not _in_jupytexts_form(lesson, old):
            said.append("It was not in the form that jupytext writes: headers of other cells may look different now.")
    said += _adopt_helpers(course, lesson)
    mark_as_seen(course, lesson)
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "code" and cell.source.strip() and not cell.metadata.get("nbgrader") and not role_of(cell):
            said.append(f"{cell_label(index, cell)} has no role yet: give it one in the text (`role: demo`, say).")
    return [*said, f"Now run `manyheads build {lesson}`."]


def _refuse_losing(lesson: str, text: str, notebook: nbformat.NotebookNode) -> None:
    """Raise Refused if the text, too, changed since the notebook was built from it."""
    try:
        now = fingerprint(read_lesson(text, lesson))
    except Refused:
        now = None
    if now not in (notebook.metadata.get("manyheads", {}).get("built"), fingerprint(notebook)):
        what = f"lessons/{lesson}.md changed too since the notebook was built"
        remedy = "Adopting would lose that change: commit the text, run adopt with --force, and merge the two with git."
        raise Refused(lesson, Problem(None, what, remedy))


def _as_text(lesson: str, notebook: nbformat.NotebookNode) -> str:
    for index, cell in enumerate(notebook.cells):
        if cell.get("attachments"):
            remedy = f"Save the picture as a file in source/{lesson}/ and link to it."
            raise Refused(lesson, Problem(cell_label(index, cell), "it holds a pasted picture", remedy))
    text = write_lesson(notebook)
    wanted, got = compact_notebook(notebook).cells, compact_notebook(read_lesson(text, lesson)).cells
    for index, cell in enumerate(wanted):
        same = index < len(got) and (got[index].cell_type, got[index].source) == (cell.cell_type, cell.source)
        if not same or got[index].metadata != cell.metadata:
            what = "MyST Markdown cannot hold this cell as it is"
            remedy = "A line `+++`, or a fence of three backquotes left open or begun with {code-cell}, ends a cell."
            raise Refused(lesson, Problem(cell_label(index, cell), what, remedy))
    return text


def _in_jupytexts_form(lesson: str, text: str) -> bool:
    try:
        return write_lesson(read_lesson(text, lesson)) == text
    except Refused:
        return False


def _adopt_helpers(course: Course, lesson: str) -> list[str]:
    source, mine = course.folder("source", lesson), course.helpers(lesson)
    have, want = helper_hashes(mine), helper_hashes(source, but=f"{lesson}.ipynb")
    said = []
    for name in sorted(have.keys() | want.keys()):
        if have.get(name) == want.get(name):
            continue
        if name in want:
            (mine / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, mine / name)
        else:
            (mine / name).unlink()
        said.append(f"lessons/{lesson}/{name}: {'copied from' if name in want else 'removed, as in'} source/{lesson}/")
    return said
