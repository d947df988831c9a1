"""The sample class: what each sample student hands in, made from a lesson's notebooks and a few written answers.

Right answers come from the source notebook. All others lie in ``answers/NN_name.toml``, in tables named after the
kind of answer (``mistake``, ``style``, ``raises``, ``partial``): grade id of the solution cell -> its source.
``[written]`` holds the text of answers that are marked by hand.
"""

import copy
import tomllib
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from .lesson import Course, is_grade, is_solution

ANSWERS = Path(__file__).parent / "answers"
# The one graded sample that lies committed under autograded/. The course's nbgrader_config.py excludes sample-*.
COMMITTED = "sample-mixture"


@dataclass(frozen=True)
class SampleStudent:
    """A member of the sample class. The name says what is special about the work."""

    name: str
    about: str
    every_lesson: bool = False


STUDENTS = [
    SampleStudent("copied-cell", "all right, with a test cell and a solution cell copied and pasted"),
    SampleStudent("all-right", "every answer right", every_lesson=True),
    SampleStudent("blank", "handed in as it was fetched"),
    SampleStudent("half-done", "right, and stopped half-way"),
    SampleStudent("known-mistakes", "one known mistake in every exercise", every_lesson=True),
    SampleStudent("other-style", "right, written in other ways"),
    SampleStudent("partial", "right in part: earns partial points"),
    SampleStudent("raises", "code that stops with an error"),
]


def hands_in(student: SampleStudent, place: int) -> bool:
    """Whether a student of STUDENTS hands in the lesson at this place of the course, counted from 0.

    Not everybody hands in everything, as in a real class; and grading takes seconds for each notebook. Those with
    ``every_lesson`` always do, each of the others two lessons of five, so that every lesson gets four or five.
    """
    others = [other for other in STUDENTS if not other.every_lesson]
    return student.every_lesson or (place + others.index(student)) % 5 in (0, 2)


def answers(lesson: str) -> dict[str, dict[str, str]]:
    """The written-down answers of a lesson, by kind and grade id; empty if there are none yet."""
    path = ANSWERS / f"{lesson}.toml"
    if not path.is_file():
        return {}
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return {kind: {name: text.strip() for name, text in table.items()} for kind, table in tables.items()}


def hand_in(course: Course, lesson: str, student: str) -> NotebookNode:
    """The notebook that a sample student hands in. Raises KeyError for a name that is not in the class."""
    source = nbformat.read(course.notebook("source", lesson), as_version=4)
    nb = nbformat.read(course.notebook("release", lesson), as_version=4)
    right = {_id(cell): _without_markers(cell.source) for cell in source.cells
             if is_solution(cell) and cell.cell_type == "code"}
    other = answers(lesson)
    match student:
        case "all-right" | "copied-cell":
            mine = right
        case "blank":
            return nb
        case "half-done":
            mine = dict(list(right.items())[: len(right) // 2])
        case "known-mistakes":
            mine = right | other.get("mistake", {})
        case "other-style" | "partial" | "raises":
            mine = right | other.get(student.removeprefix("other-"), {})
        case _ if student == COMMITTED:
            mine = _mixture(right, other)
        case _:
            raise KeyError(f"the sample class has no {student!r}")
    written = other.get("written", {})
    for cell in nb.cells:
        if is_solution(cell) and cell.cell_type == "code":
            cell.source = mine.get(_id(cell), cell.source)
        elif is_solution(cell) and is_grade(cell) and student != "half-done":
            cell.source = written.get(_id(cell), "A sample answer.")
    if student == "copied-cell":
        _copy_cells(nb)
    return nb


def _mixture(right: dict[str, str], other: dict[str, dict[str, str]]) -> dict[str, str]:
    """By turns a right answer and a known mistake, and a partly right one where there is one."""
    mistaken = {name: source for name, source in list(other.get("mistake", {}).items())[1::2]}
    return right | mistaken | other.get("partial", {})


def _copy_cells(nb: NotebookNode) -> None:
    """Copy the first test cell and the first solution cell, as copy and paste in JupyterLab does."""
    for wanted in (lambda cell: is_grade(cell) and not is_solution(cell), is_solution):
        place = next(place for place, cell in enumerate(nb.cells) if wanted(cell) and cell.cell_type == "code")
        twin = copy.deepcopy(nb.cells[place])
        twin["id"] = f"copy-{place}"
        nb.cells.insert(place + 1, twin)


def _id(cell: NotebookNode) -> str:
    return cell.metadata.nbgrader.grade_id


def _without_markers(source: str) -> str:
    return "\n".join(line for line in source.split("\n")
                     if "### BEGIN SOLUTION" not in line and "### END SOLUTION" not in line)
