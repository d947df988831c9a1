"""What is repaired or refused in a notebook that was handed in, before anything runs.

:func:`parse` reads it, :func:`rebuild` makes from it the notebook that is graded: all that a student does not write
comes from ``source/``. :class:`Intake` is the same for nbgrader's own commands. :mod:`.hand_in` looks for the notebook
in a hand-in folder.
"""

import ast
import base64
import binascii
import copy
import gc
import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import compute_checksum, is_grade, is_solution

from manyheads.course.lesson import asked_names
from manyheads.course.stubs import StubSolutions

MOST_BYTES = 64 * 2**20  # of a notebook file: outputs may be large, they are thrown away
MOST_TEXT = 2 * 2**20  # characters in all cells together
_WIDEST = 1_000  # characters of a line that are looked at for a name
MOST_CELLS = 2_000
MOST_VALUES = 8_000_000  # in the whole file: small ones need much more memory than their text
MOST_METADATA = 100_000  # characters, of a cell or of the notebook: larger ones are dropped
DEEPEST = 100  # brackets in brackets; a notebook has fewer than ten
MOST_PICTURE_BYTES = 10 * 2**20  # of all attachments of a notebook together
_MOST_SENTENCES = 100  # on what was repaired


class Unreadable(Exception):
    """Why this is no notebook that can be graded, in one line."""


def grade_id(cell: NotebookNode) -> str | None:
    """The cell's grade id, or None for a cell that nbgrader does not know."""
    meta = cell.metadata.get("nbgrader")
    name = meta.get("grade_id") if isinstance(meta, dict) else None
    return name if isinstance(name, str) and name else None


def _role(cell: NotebookNode) -> str | None:
    """As :func:`manyheads.course.lesson.role_of`, of cells in which a student may have written anything."""
    meta = cell.metadata.get("manyheads")
    return meta.get("role") if isinstance(meta, dict) else None


# ---- reading --------------------------------------------------------------------------------------------------

# How other files begin that are handed in under the name of a notebook.
_OTHER_FILES = {
    b"PK\x03\x04": "a zip archive (or a Word file)", b"\x1f\x8b": "a gzip archive", b"%PDF": "a PDF file",
    b"\x89PNG": "a picture", b"\xff\xd8\xff": "a picture", b"Rar!": "a rar archive", b"7z\xbc\xaf": "a 7z archive",
    b"SQLite format 3": "a database", b"version https://git-lfs": "a Git LFS pointer, not the notebook itself",
}  # fmt: skip
_BYTE_ORDER_MARKS = ((b"\xff\xfe\x00\x00", "utf-32"), (b"\x00\x00\xfe\xff", "utf-32"), (b"\xef\xbb\xbf", "utf-8-sig"),
                     (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_CONFLICT = re.compile(r"^(<{7}|>{7}|\|{7})( |\r?$)", re.MULTILINE)
# A whole JSON string, or one that never ends. Possessive, so that no text makes it slow.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_ALL_AS_SQUARE = bytes.maketrans(b"{}", b"[]")
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
_CELL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_KINDS = ("code", "markdown", "raw")


def parse(data: bytes) -> NotebookNode:
    """Read any bytes as a notebook of format 4.5, without outputs; every cell has a valid id of its own.

    Raises Unreadable, and nothing else.
    """
    try:
        text = _text(data)
        whole = _json(text)
        for cell in _raw_cells(whole):
            if "outputs" in cell:
                cell["outputs"] = []
        return _notebook(_mended(whole) if _HALF_CHARACTER.search(text) else whole)
    except Unreadable:
        raise
    except (MemoryError, RecursionError):
        raise Unreadable("the file is too large or too deeply nested to be read") from None
    except Exception as problem:  # a promise to the callers: one bad file must not end a class
        raise Unreadable(f"the file cannot be read as a notebook ({type(problem).__name__})") from None


def _text(data: bytes) -> str:
    if len(data) > MOST_BYTES:
        raise Unreadable(f"the file has {len(data) / 2**20:.0f} MB; at most {MOST_BYTES // 2**20} MB are read")
    if not data.strip():
        raise Unreadable("the file is empty")
    for start, what in _OTHER_FILES.items():
        if data.startswith(start):
            raise Unreadable(f"the file is no notebook: it looks like {what}")
    coding = next((coding for mark, coding in _BYTE_ORDER_MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(coding)
    except UnicodeDecodeError as problem:
        raise Unreadable(f"the file is not UTF-8 text (byte {problem.start}): save it in JupyterLab again") from None
    if not text.strip():
        raise Unreadable("the file is empty")
    if text.lstrip().startswith("<") and re.match(r"<(!doctype|html|head|body|\?xml|!--)", text.lstrip()[:20].lower()):
        raise Unreadable("the file is no notebook: it looks like a web page (File > Download gives the notebook)")
    return text


def _json(text: str) -> dict:
    outside = _STRING.sub(b"", text.encode("utf-8", "replace"))
    if _too_deep(outside):
        raise Unreadable(f"the file is nested deeper than {DEEPEST} levels, which no notebook is")
    if outside.count(b",") > MOST_VALUES:
        raise Unreadable(f"the file holds more than {MOST_VALUES} values, which no notebook does")
    collects = gc.isenabled()
    gc.disable()  # or it would look through millions of new lists again and again
    try:
        whole = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as problem:
        if _CONFLICT.search(text):
            raise Unreadable("the file holds merge conflict markers (<<<<<<<): resolve them, hand in again") from None
        cut_off = problem.pos >= len(text.rstrip()) or problem.msg.startswith("Unterminated string")
        if cut_off and text.lstrip().startswith("{"):
            raise Unreadable(f"the file is cut off in line {text.count(chr(10)) + 1}: its end is missing") from None
        raise Unreadable(f"the file is not JSON, so it is no notebook (line {problem.lineno}: {problem.msg})") from None
    except ValueError:  # a number of thousands of digits
        raise Unreadable("the file holds a number that is too long") from None
    finally:
        if collects:
            gc.enable()
    if not isinstance(whole, dict):
        raise Unreadable("the file is JSON, but no notebook")
    return whole


def _refuse_constant(name: str):
    raise Unreadable(f"the file holds {name}, which is no JSON number")


def _too_deep(outside: bytes) -> bool:
    """Whether the brackets outside of strings are nested too deeply: found by taking away the innermost pairs, in C."""
    brackets = outside.translate(_ALL_AS_SQUARE, _NOT_BRACKETS)
    for _ in range(DEEPEST):
        fewer = brackets.replace(b"[]", b"")
        if len(fewer) == len(brackets):
            break
        brackets = fewer
    return b"[]" in brackets or brackets.count(b"[") > DEEPEST


def _notebook(whole: dict) -> NotebookNode:
    whole = _version_4(whole)
    if not isinstance(whole.get("cells"), list):
        raise Unreadable("the file is JSON, but no notebook: it has no cells")
    if len(whole["cells"]) > MOST_CELLS:
        raise Unreadable(f"the notebook has {len(whole['cells'])} cells; at most {MOST_CELLS} are read")
    cells = [_cell(raw) for raw in whole["cells"] if isinstance(raw, dict)]
    size = sum(len(cell.source) for cell in cells)
    if size > MOST_TEXT:
        raise Unreadable(f"the cells hold {size} characters of text; at most {MOST_TEXT} are read")
    _give_ids(cells, "cell")
    return NotebookNode(nbformat=4, nbformat_minor=5, cells=cells, metadata=_metadata(whole))


def _version_4(whole: dict) -> dict:
    """As format 4: an older one is upgraded, a later minor version is taken as it is."""
    major = whole.get("nbformat")
    if not isinstance(major, int) or isinstance(major, bool) or major < 1:
        major = 3 if isinstance(whole.get("worksheets"), list) else 4
    if major > 4:
        raise Unreadable(f"the notebook has the format nbformat {major}, not known here: save it as nbformat 4")
    if major < 4:
        whole = {"nbformat_minor": 0, "metadata": {}} | whole | {"nbformat": major}
        for cell in _raw_cells(whole):
            for key, usual in (("metadata", {}), ("outputs", []), ("language", "python"), ("collapsed", False)):
                cell.setdefault(key, usual)
        try:
            old = nbformat.reader.reads(json.dumps(whole))
            new = nbformat.convert(old, 4)
        except Exception:  # of any kind: these readers expect a whole notebook
            raise Unreadable(f"the notebook has the old format nbformat {major} and cannot be upgraded: "
                             "open it in JupyterLab, save it, and hand in again") from None
        for cell in new.cells:
            cell.pop("id", None)  # drawn at random
        return new
    return whole


def _raw_cells(whole: dict) -> Iterator[dict]:
    sheets = whole.get("worksheets")
    holders = [whole, *(sheet for sheet in (sheets if isinstance(sheets, list) else []) if isinstance(sheet, dict))]
    for holder in holders:
        cells = holder.get("cells")
        yield from (cell for cell in (cells if isinstance(cells, list) else []) if isinstance(cell, dict))


def _mended(value):
    """Without halves of characters, which JSON can hold and no file can."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_mended(key): _mended(inner) for key, inner in value.items()}
    return [_mended(inner) for inner in value] if isinstance(value, list) else value


def _cell(raw: dict) -> NotebookNode:
    kind = raw.get("cell_type")
    source = raw.get("source", raw.get("input", ""))
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    if kind == "heading":  # of format 3
        kind, source = "markdown", f"# {source}"
    if kind not in _KINDS:
        kind = "code" if "outputs" in raw or "execution_count" in raw else "raw"
    cell = NotebookNode(id=raw.get("id"), cell_type=kind, source=source if isinstance(source, str) else "",
                        metadata=_metadata(raw))
    if kind == "code":
        cell.update(execution_count=None, outputs=[])
    elif isinstance(raw.get("attachments"), dict):
        cell["attachments"] = NotebookNode({
            name: NotebookNode({kind: data for kind, data in kinds.items() if isinstance(data, str)})
            for name, kinds in raw["attachments"].items() if isinstance(kinds, dict)})
    return cell


def _metadata(raw: dict) -> NotebookNode:
    metadata = raw.get("metadata")
    if not isinstance(metadata, dict):
        return NotebookNode()
    metadata = {key: value for key, value in metadata.items() if key != "widgets"}  # large, and an output really
    return nbformat.from_dict(metadata) if len(str(metadata)) <= MOST_METADATA else NotebookNode()


def _give_ids(cells: Iterable[NotebookNode], prefix: str, taken: Iterable[str] = ()) -> None:
    """Give a new id to each cell that has no valid one, or one that is taken already."""
    used, number = set(taken), 0
    for cell in cells:
        name = cell.get("id")
        if not isinstance(name, str) or not _CELL_ID.fullmatch(name) or name in used:
            number += 1
            while (name := f"{prefix}-{number}") in used:
                number += 1
            cell["id"] = name
        used.add(name)


# ---- copied cells ---------------------------------------------------------------------------------------------


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


# ---- rebuilding -----------------------------------------------------------------------------------------------


def rebuild(nb: NotebookNode, source: NotebookNode) -> tuple[NotebookNode, list[str]]:
    """The notebook that is graded, and one sentence for each thing that was repaired.

    From ``source``: every cell with a grade id, once, and all metadata. From ``nb``: the text of the solution cells,
    and the student's own cells. Neither argument is changed. Rebuilding the result repairs nothing more.
    """
    lesson = _Lesson(source)
    work = NotebookNode(nbformat=4, nbformat_minor=5, metadata={}, cells=[_bare(cell) for cell in nb.cells])
    _give_ids(work.cells, "own")
    told = _forget_other_lessons(work, lesson) + _join_split_answers(work, lesson) + resolve_duplicates(work)
    slots = [_Slot(cell) for cell in work.cells]
    told += _match(slots, lesson)
    told += _put_back(slots, lesson)
    told += _put_in_order(slots, lesson)
    told += _say_changes(slots, lesson) + _say_kernel(nb, source)
    cells = [_made(slot, lesson) for slot in slots]
    told += _keep_pictures_only(cells)
    # The lesson's cells first: a student's own may have an id of theirs.
    order = sorted(range(len(cells)), key=lambda place: slots[place].origin is None)
    _give_ids([cells[place] for place in order], "own")
    if len(told) > _MOST_SENTENCES:
        told = [*told[:_MOST_SENTENCES], f"{len(told) - _MOST_SENTENCES} more things were repaired."]
    return NotebookNode(nbformat=4, nbformat_minor=5, cells=cells, metadata=copy.deepcopy(source.metadata)), told


@dataclass(eq=False)
class _Slot:
    """A cell of the student's, and the number of the source cell that it is (None: the student's own)."""

    cell: NotebookNode
    origin: int | None = None
    put_back: bool = False


class _Lesson:
    """What is known of the source notebook."""

    def __init__(self, source: NotebookNode):
        self.cells = [_bare(cell) for cell in source.cells]
        _give_ids(self.cells, "cell")
        self.named = {name: number for number, cell in enumerate(self.cells) if (name := grade_id(cell))}
        self.released: dict[int, str] = {}  # number -> text of a named cell in the student's version
        self.by_text: dict[tuple[str, str], int] = {}  # the other cells
        self.setups: list[int] = []
        self.tests: dict[int, int | None] = {}  # number -> that of the solution cell it checks
        language = source.metadata.get("kernelspec", {}).get("language", "python")
        for number, cell in enumerate(self.cells):
            if grade_id(cell):
                self._add_named(number, cell, language)
            elif cell.source.strip():
                self.by_text.setdefault((cell.cell_type, _trimmed(cell.source)), number)

    def _add_named(self, number: int, cell: NotebookNode, language: str) -> None:
        twin = copy.deepcopy(cell)
        if is_solution(cell):
            StubSolutions().preprocess_cell(twin, {"language": language}, number)
        # As nbgrader does: of a solution cell that of the stub, which tells an answer that was never begun.
        cell.metadata["nbgrader"].update(checksum=compute_checksum(twin), cell_type=cell.cell_type)
        self.released[number] = twin.source if is_solution(cell) else _without_hidden_regions(cell.source)
        if cell.cell_type == "code" and not is_solution(cell):
            if is_grade(cell):
                self.tests[number] = self._solution_of(grade_id(cell), number)
            else:
                self.setups.append(number)

    def _solution_of(self, test: str, number: int) -> int | None:
        """By its name (``test_NAME_what`` checks ``NAME``), else the nearest above."""
        above = {name: place for name, place in self.named.items() if place < number and is_solution(self.cells[place])}
        named = [name for name in above if f"{test}_".startswith(f"test_{name}_")]
        return above[max(named, key=len)] if named else max(above.values(), default=None)

    def name(self, number: int) -> str:
        return grade_id(self.cells[number])

    def answers(self, number: int) -> bool:
        return is_solution(self.cells[number])

    def asked(self, number: int) -> list[str]:
        """The names that a solution cell should define."""
        try:
            return asked_names(self.released[number]) if self.cells[number].cell_type == "code" else []
        except SyntaxError:
            return []


def _bare(cell: NotebookNode) -> NotebookNode:
    """A copy without outputs."""
    metadata = cell.get("metadata")
    bare = NotebookNode(id=cell.get("id"), cell_type=cell.cell_type, source=cell.source,
                        metadata=copy.deepcopy(metadata) if isinstance(metadata, dict) else NotebookNode())
    if cell.cell_type == "code":
        bare.update(execution_count=None, outputs=[])
    elif cell.get("attachments"):
        bare["attachments"] = copy.deepcopy(cell.attachments)
    return bare


def _trimmed(text: str) -> str:
    return text.replace("\r\n", "\n").strip("\n").rstrip()


def _without_hidden_regions(text: str) -> str:
    kept, hidden = [], False
    for line in text.split("\n"):
        if "BEGIN HIDDEN TESTS" in line or "BEGIN MARK SCHEME" in line:
            hidden = True
        elif "END HIDDEN TESTS" in line or "END MARK SCHEME" in line:
            hidden = False
        elif not hidden:
            kept.append(line)
    return "\n".join(kept)


def _list(names: Iterable[str], most: int = 30) -> str:
    names = list(names)
    shown = ", ".join(repr(name if len(name) <= 40 else name[:37] + "...") for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def _label(cell: NotebookNode) -> str:
    """How a sentence names a cell: by its grade id or its first line."""
    return grade_id(cell) or next((line.strip() for line in cell.source.splitlines() if line.strip()), "empty")


def _forget_other_lessons(work: NotebookNode, lesson: _Lesson) -> list[str]:
    """Cells of an older release or of another lesson become the student's own."""
    strange = []
    for cell in work.cells:
        if (name := grade_id(cell)) and name not in lesson.named:
            del cell.metadata["nbgrader"]
            strange.append(name)
    if not strange:
        return []
    names = _list(dict.fromkeys(strange))
    return [f"This release of the lesson has no such cells as {names}: they count as the student's own."]


def _join_split_answers(work: NotebookNode, lesson: _Lesson) -> list[str]:
    """Make one cell again of an answer that was split: JupyterLab gives both pieces the same grade id."""
    told: list[str] = []
    places: dict[str, list[int]] = {}
    for place, cell in enumerate(work.cells):
        if name := grade_id(cell):
            places.setdefault(name, []).append(place)
    gone: set[int] = set()
    for name, found in places.items():
        number, pieces = lesson.named[name], [work.cells[place] for place in found]
        together = len(found) > 1 and found[-1] - found[0] == len(found) - 1
        texts = [cell.source for cell in pieces]
        if lesson.cells[number].cell_type != "code":  # of an answer in words, an empty copy says nothing
            texts = [text for text in texts if _trimmed(text) not in ("", _trimmed(lesson.released[number]))]
        if together and lesson.answers(number) and _are_pieces(texts, number, lesson):
            pieces[-1].source = _joined(texts, lesson.cells[number].cell_type)
            attached = {key: value for cell in pieces for key, value in cell.get("attachments", {}).items()}
            if attached:
                pieces[-1]["attachments"] = NotebookNode(attached)
            gone |= set(found[:-1])
            told.append(f"The cell {name!r} was split in {len(found)}: the pieces were put together again, in order.")
    work.cells = [cell for place, cell in enumerate(work.cells) if place not in gone]
    return told


def _joined(texts: list[str], kind: str) -> str:
    return ("\n" if kind == "code" else "\n\n").join(text.strip("\n") for text in texts)


def _are_pieces(texts: list[str], number: int, lesson: _Lesson) -> bool:
    """Whether these are pieces of one answer, and not copies of it: copies define the same, or say the same."""
    if lesson.cells[number].cell_type != "code":
        words = [set(text.split()) for text in texts]
        pairs = [(one, other) for place, one in enumerate(words) for other in words[:place]]
        return bool(words) and all(len(one & other) * 2 <= min(len(one), len(other)) for one, other in pairs)
    defined = [{name for name in lesson.asked(number) if defines(text, name)} for text in texts]
    once = sum(map(len, defined)) == len(set().union(*defined)) > 0
    return once and _is_python(_joined(texts, "code"))


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def defines(text: str, name: str) -> bool:
    """Whether a line at the margin defines the name, as far as can be told without parsing.

    Takes time as the text is long.
    """
    for line in text.split("\n"):
        line = line[:_WIDEST]
        if name not in line or line[0].isspace():
            continue
        if re.match(rf"(?:async[ \t]+)?(?:def|class)[ \t]+{name}\b", line):
            return True
        targets, assigned, rest = line.partition("=")
        if assigned and not rest.startswith("="):
            names = targets.partition(":")[0].split(",")
            if name in (target.strip(" \t()[]") for target in names):
                return True
    return False


def _match(slots: list[_Slot], lesson: _Lesson) -> list[str]:
    """Find the source cell of every slot: by its grade id, or by its cell id, text or content."""
    for slot in slots:
        slot.origin = lesson.named.get(grade_id(slot.cell))
    missing = sorted(set(lesson.named.values()) - {slot.origin for slot in slots})
    found = []
    for number in missing:
        if not lesson.answers(number) and (slot := _locked_cell(slots, number, lesson)):
            slot.origin = number
            found.append(number)
    for slot in _own(slots):
        slot.origin = lesson.by_text.get((slot.cell.cell_type, _trimmed(slot.cell.source)))
    for number in missing:
        if lesson.answers(number) and (slot := _answer(slots, number, lesson)):
            slot.origin = number
            found.append(number)
    names = [lesson.name(number) for number in sorted(found)]
    return [f"Cells that had lost their marks were found by their content: {_list(names)}."] if found else []


def _own(slots: list[_Slot]) -> list[_Slot]:
    return [slot for slot in slots if slot.origin is None and not _is_note(slot.cell) and slot.cell.source.strip()]


def _is_note(cell: NotebookNode) -> bool:
    return cell.cell_type == "markdown" and _role(cell) == "note"


def _locked_cell(slots: list[_Slot], number: int, lesson: _Lesson) -> _Slot | None:
    cell = lesson.cells[number]
    texts = {_trimmed(lesson.released[number]), _trimmed(cell.source)}
    same_text = [slot for slot in _own(slots) if _trimmed(slot.cell.source) in texts]
    same_id = [slot for slot in _own(slots) if slot.cell.id == cell.id]
    return next(iter(same_text + same_id), None)


def _answer(slots: list[_Slot], number: int, lesson: _Lesson) -> _Slot | None:
    """The student's cell that answers a solution cell, without its marks."""
    cell, own = lesson.cells[number], _own(slots)
    stub = _trimmed(lesson.released[number])
    known = [slot for slot in own if slot.cell.id == cell.id or _trimmed(slot.cell.source) == stub]
    if known:
        return known[0]
    above, below = _neighbours(slots, number)
    between = [slot for slot in slots[above + 1:below] if slot in own]
    if cell.cell_type != "code":
        texts = [slot for slot in between if slot.cell.cell_type != "code"]
        if above >= 0 and slots[above].origin == number - 1:
            return next(iter(texts), None)
        return texts[-1] if texts and below < len(slots) and slots[below].origin == number + 1 else None
    asked = lesson.asked(number)
    counts = [(sum(defines(slot.cell.source, name) for name in asked), slot) for slot in own]
    # Anywhere else, only a cell that answers the whole question.
    near = [(count, slot) for count, slot in counts if count and slot in between]
    far = [(count, slot) for count, slot in counts if asked and count == len(asked)]
    best = max(near or far, key=lambda pair: (pair[0], slots.index(pair[1])), default=None)
    return best and best[1]


def _neighbours(slots: list[_Slot], number: int) -> tuple[int, int]:
    """The places of the nearest source cells above and below a source cell (-1, len(slots): there are none)."""
    known = [(slot.origin, place) for place, slot in enumerate(slots) if slot.origin is not None]
    above = max(((origin, place) for origin, place in known if origin < number), default=(0, -1))[1]
    below = min(((origin, place) for origin, place in known if origin > number), default=(0, len(slots)))[1]
    return above, below


def _put_back(slots: list[_Slot], lesson: _Lesson) -> list[str]:
    """Put a cell for each grade id that is missing where it stands in the source."""
    told = []
    for name, number in lesson.named.items():
        if any(slot.origin == number for slot in slots):
            continue
        cell = copy.deepcopy(lesson.cells[number])
        if lesson.answers(number):
            # A stub of code would run, and hide what another cell of the student's defines.
            cell.source = "" if cell.cell_type == "code" else lesson.released[number]
        above, below = _neighbours(slots, number)
        slots.insert(above + 1 if above >= 0 else below, _Slot(cell, number, put_back=True))
        what = "an empty one was put back" if lesson.answers(number) else "it was put back"
        told.append(f"The cell {name!r} was missing: {what}.")
    return told


def _put_in_order(slots: list[_Slot], lesson: _Lesson) -> list[str]:
    """Move the read-only cells whose place would change what they do; all others stay where the student has them.

    A test stands behind the solution that it checks, and before the set-up cells that come later in the source; a
    set-up cell stands before all that come later.
    """
    before = list(slots)
    place = {slot.origin: slot for slot in slots if slot.origin in lesson.named.values()}

    touched: set[_Slot] = set()

    def at(number: int) -> int:
        return slots.index(place[number])

    def move_behind(test: int, other: int) -> None:
        slot = place[test]
        touched.add(slot)
        slots.remove(slot)
        target = at(other) + 1
        while target < len(slots) and slots[target].origin in lesson.tests and slots[target].origin < test:
            target += 1
        slots.insert(target, slot)

    for test, solution in lesson.tests.items():
        if solution is not None and at(test) < at(solution):
            move_behind(test, solution)
    for setup in reversed(lesson.setups):
        later = [at(number) for number in place if number > setup and lesson.cells[number].cell_type == "code"]
        if later and at(setup) > min(later):
            touched.add(place[setup])
            slots.insert(min(later), slots.pop(at(setup)))
    for test, solution in lesson.tests.items():
        later = [at(setup) for setup in lesson.setups if setup > test]
        needed = [setup for setup in lesson.setups if setup < test] + ([solution] if solution is not None else [])
        if needed and later and at(test) > min(later):
            move_behind(test, max(needed, key=at))

    def above(order: list[_Slot], slot: _Slot) -> set[_Slot]:
        return set(order[:order.index(slot)]) - touched

    moved = [slot for slot in before if slot in touched and above(before, slot) != above(slots, slot)]
    return [f"The cell {lesson.name(slot.origin)!r} stood where it does not belong: it was moved."
            for slot in moved if not slot.put_back]


def _say_changes(slots: list[_Slot], lesson: _Lesson) -> list[str]:
    """A sentence for each cell that comes from the source other than the student has it."""
    told, skipped = [], []
    for slot in slots:
        tags = slot.cell.metadata.get("tags")
        if isinstance(tags, list) and "skip-execution" in tags and slot.cell.cell_type == "code":
            skipped.append(_label(slot.cell))
        if slot.origin not in lesson.released:
            continue
        name, right = lesson.name(slot.origin), lesson.cells[slot.origin]
        if slot.cell.cell_type != right.cell_type:
            told.append(f"The cell {name!r} had become a {slot.cell.cell_type} cell: "
                        f"it is a {right.cell_type} cell again.")
        texts = (lesson.released[slot.origin], right.source)
        if not lesson.answers(slot.origin) and _trimmed(slot.cell.source) not in map(_trimmed, texts):
            told.append(f"The read-only cell {name!r} was changed: its original text was put back.")
        if changed := _changed_marks(slot.cell.metadata.get("nbgrader"), right.metadata["nbgrader"]):
            told.append(f"The marks of the cell {name!r} were changed ({changed}): they are as released again.")
    if skipped:
        told.append(f"The tag skip-execution was taken from {_list(skipped)}: grading runs every cell.")
    return told


def _changed_marks(have: object, right: dict) -> str:
    """Which of nbgrader's marks differ; a mark that older versions do not write is no change."""
    changed = []
    for key in ("grade", "solution", "locked", "task", "points"):
        if isinstance(have, dict) and key in have and have[key] != right.get(key, False):
            changed.append(key)
    return ", ".join(changed)


def _say_kernel(nb: NotebookNode, source: NotebookNode) -> list[str]:
    have, right = nb.metadata.get("kernelspec"), source.metadata.get("kernelspec", {})
    if not isinstance(have, dict) or not have.get("name") or have["name"] == right.get("name"):
        return []
    if have.get("language") == right.get("language"):  # another environment's Python
        return []
    return [f"The notebook asked for the kernel {str(have['name'])[:40]!r}: it is graded with {right.get('name')!r}."]


def _made(slot: _Slot, lesson: _Lesson) -> NotebookNode:
    """The cell of the result."""
    if slot.origin is None:
        role = "note" if _is_note(slot.cell) else "student"
        slot.cell["metadata"] = NotebookNode(manyheads=NotebookNode(role=role))
        return slot.cell
    cell = copy.deepcopy(lesson.cells[slot.origin])
    if slot.origin in lesson.released and lesson.answers(slot.origin):
        cell.source = slot.cell.source
        cell.pop("attachments", None)
        if cell.cell_type != "code" and slot.cell.get("attachments"):
            cell["attachments"] = slot.cell.attachments
    return cell


_PICTURE_STARTS = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff", "image/gif": b"GIF8",
                   "image/webp": b"RIFF"}


def is_picture(kind: str, data: object) -> bool:
    """Whether this is a picture in base64 (PNG, JPEG, GIF, WebP), and of the kind that it says."""
    if kind not in _PICTURE_STARTS or not isinstance(data, str):
        return False
    try:
        return base64.b64decode("".join(data.split()), validate=True).startswith(_PICTURE_STARTS[kind])
    except (binascii.Error, ValueError):
        return False


def _keep_pictures_only(cells: list[NotebookNode]) -> list[str]:
    """Take away the attachments of students' texts that are no pictures, or too large."""
    told, left = [], MOST_PICTURE_BYTES
    for cell in cells:
        if "attachments" not in cell or not (is_solution(cell) or _role(cell) == "student"):
            continue
        kept, gone = NotebookNode(), []
        for name, kinds in cell.pop("attachments").items():
            held = kinds.items() if isinstance(kinds, dict) else ()
            good = {kind: data for kind, data in held if is_picture(kind, data)}
            size = sum(map(len, good.values()))
            if good and size <= left:
                left -= size
                kept[name] = NotebookNode(good)
            else:
                gone.append(name)
        if kept:
            cell["attachments"] = kept
        if gone:
            told.append(f"An attachment of the cell {_list([_label(cell)])} was taken away, "
                        f"as no picture or too large: {_list(gone)}.")
    return told


def likeness_to(source: NotebookNode) -> Callable[[NotebookNode], int]:
    """How many of the lesson's questions a notebook has, as a function of it. Set-up cells are alike in all lessons."""
    lesson = _Lesson(source)
    questions = {number for number in lesson.named.values()
                 if lesson.cells[number].cell_type == "code" and number not in lesson.setups}

    def likeness(nb: NotebookNode) -> int:
        slots = [_Slot(_bare(cell)) for cell in nb.cells]
        _match(slots, lesson)
        return len({slot.origin for slot in slots} & questions)

    return likeness


# ---- through nbgrader -----------------------------------------------------------------------------------------


def folder_of(step: NbGraderPreprocessor, which: str, student: str, who: dict) -> Path:
    """A folder of the hand-in that an nbgrader step works on; ``which`` is "submitted_directory" and the like."""
    directory = step.parent.parent.coursedir  # of the converter, which holds the exporter, which holds the step
    return Path(directory.format_path(getattr(directory, which), student, who["assignment"]))


class Intake(NbGraderPreprocessor):
    """:func:`rebuild` among ``Autograde.sanitize_preprocessors``: alone before CheckCellMetadata.

    What was repaired is logged for the instructor and kept in ``metadata.manyheads.repaired`` of the autograded
    notebook, from where the feedback tells the student. Raises NbGraderException if the gradebook does not hold the
    cells of source/: their points would go nowhere.
    """

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        who = resources["nbgrader"]
        source = self._source(who)
        if not is_plain_name(who["student"]):
            raise NbGraderException(f"the student's folder name {who['student']!r} {NOT_PLAIN}")
        left_out = self._without_links(who)
        if gradebook_differs(who["db_url"], who["assignment"], who["notebook"], source):
            raise NbGraderException(f"the gradebook does not match source/{who['assignment']}: "
                                    "run `manyheads gradebook sync`")
        try:  # nbgrader reads cells of which parts are missing
            new, repaired = rebuild(parse(json.dumps(nb).encode()), source)
        except Unreadable as problem:
            raise NbGraderException(f"{who['notebook']}: {problem}") from None
        repaired += left_out
        for sentence in repaired:
            self.log.warning("%s, %s: %s", who["student"], who["notebook"], sentence)
        new.metadata["manyheads"] = {**new.metadata.get("manyheads", {}), "repaired": repaired}
        return new, resources

    def _source(self, who: dict) -> NotebookNode:
        folder = folder_of(self, "source_directory", ".", who)
        try:
            return parse((folder / f"{who['notebook']}.ipynb").read_bytes())
        except OSError:
            raise NbGraderException(f"source/{who['assignment']} holds no {who['notebook']}.ipynb: "
                                    "build the lesson") from None
        except Unreadable as problem:
            raise NbGraderException(f"source/{who['assignment']}/{who['notebook']}.ipynb: {problem}") from None

    def _without_links(self, who: dict) -> list[str]:
        """Take out of autograded/ what nbgrader has copied there by following links of the student's."""
        theirs = folder_of(self, "submitted_directory", who["student"], who)
        copied = folder_of(self, "autograded_directory", who["student"], who)
        if (theirs / f"{who['notebook']}.ipynb").is_symlink() or theirs.is_symlink():
            raise NbGraderException(f"{who['notebook']}.ipynb is a symbolic link: ask for the notebook itself")
        links = [path.relative_to(theirs) for path in theirs.rglob("*") if path.is_symlink()]
        for link in links:
            if (copied / link).is_dir():
                shutil.rmtree(copied / link)
            else:
                (copied / link).unlink(missing_ok=True)
        return [f"Left out, as symbolic links: {shown(sorted(map(str, links)))}."] if links else []


def shown(names: Iterable[str]) -> str:
    """Names of files for a line of text, whatever is in them."""
    names = list(names)
    clear = [ascii(name)[1:-1] if not name.isprintable() else name for name in names[:5]]
    return ", ".join(clear) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


NOT_PLAIN = "holds a character that a web page would take for markup: rename it"


def is_plain_name(student: str) -> bool:
    """Whether a student's id can stand in a page as it is: Formgrader's pages do not escape it."""
    return not any(character in "<>&\"'" or not character.isprintable() for character in student)


def gradebook_differs(db_url: str, assignment: str, notebook: str, source: NotebookNode) -> bool:
    """Whether the gradebook holds other cells than the source notebook."""
    lesson = _Lesson(source)
    wanted = {}
    for name, number in lesson.named.items():
        cell = lesson.cells[number]
        mark = cell.metadata["nbgrader"]
        points = float(mark["points"]) if mark.get("grade") or mark.get("task") else None
        # Of an answer nbgrader holds the stub, which its configuration may word in another way.
        wanted[name] = (cell.cell_type, not is_solution(cell) and mark["checksum"], points)
    with Gradebook(db_url) as gradebook:
        try:
            found = gradebook.find_notebook(notebook, assignment)
        except MissingEntry:
            return True
        points = {cell.name: float(cell.max_score) for cell in [*found.grade_cells, *found.task_cells]}
        answers = {cell.name for cell in found.solution_cells}
        held = {cell.name: (cell.cell_type, cell.name not in answers and cell.checksum, points.get(cell.name))
                for cell in found.source_cells}
    # Cells that left source/ may be kept for the marks that somebody gave by hand.
    return any(held.get(name) != cell for name, cell in wanted.items())
