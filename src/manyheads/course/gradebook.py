"""Bring a class gradebook up to source/, keeping submissions, grades and comments.

What the gradebook should hold is computed by nbgrader itself: it makes the assignment from a copy of source/ in a
scratch folder with a fresh gradebook, and the two gradebooks are compared.
"""

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from nbgrader.api import Comment, Grade, Gradebook, MissingEntry, Notebook, SubmittedNotebook
from nbgrader.coursedir import CourseDirectory

from .backups import FOLDER, back_up
from .build import convert, scratch_course, scratch_database
from .lesson import Course, Problem, Refused
from .stock import find_tools, nbgrader_config

_KINDS = ("grade", "solution", "task", "source")
# The columns of each kind that come from source/ (the others are ids).
_COLUMNS = {
    "grade": ("max_score", "cell_type"),
    "solution": (),
    "task": ("max_score", "cell_type"),
    "source": ("cell_type", "locked", "source", "checksum"),
}


@dataclass
class _Wanted:
    """What nbgrader would put into a fresh gradebook for one notebook."""

    kernelspec: str
    cells: dict[str, dict[str, dict]] = field(default_factory=dict)  # kind -> name -> columns


def sync(course: Course, lessons: list[str] | None = None) -> list[str]:
    """Bring gradebook.db up to source/ (default: all its lessons) and say in lines what was done.

    New cells are added, also to submissions that are already there (ungraded, until the next autograde). A cell that
    left source/ is removed with what the autograder gave for it; if somebody gave it a mark, extra credit or a comment
    by hand, it stays and is named. Before anything with submissions changes, the gradebook is copied into
    gradebook-backups/. Raises Refused if nbgrader cannot read a source notebook.
    """
    find_tools()
    exist = sorted(path.parent.name for path in (course.root / "source").glob("*/*.ipynb"))
    for lesson in lessons or []:
        if lesson not in exist:
            raise Refused(lesson, Problem(None, f"there is no notebook in source/{lesson}/", "Build the lesson first."))
    wanted = {lesson: _wanted(course, lesson) for lesson in lessons or exist}
    directory = CourseDirectory(config=nbgrader_config(course))
    said = []
    with Gradebook(directory.db_url, directory.course_id) as gradebook:
        pending = [lesson for lesson in wanted if _differs(gradebook, lesson, wanted[lesson])]
        if any(_submissions(gradebook, lesson) for lesson in pending):
            said += _back_up(directory.db_url, course.root / FOLDER)
        for lesson in wanted:
            if lesson in pending:
                said += [f"{lesson}: {line}" for line in _bring_up(gradebook, lesson, wanted[lesson])]
            else:
                said.append(f"{lesson}: up to date")
    return said


def _wanted(course: Course, lesson: str) -> _Wanted:
    with scratch_course(course) as scratch:
        shutil.copytree(course.folder("source", lesson), scratch.folder("source", lesson))
        convert(scratch, lesson, "release")
        with Gradebook(scratch_database(scratch)) as fresh:
            return _held(fresh.find_notebook(lesson, lesson))


def _held(notebook: Notebook) -> _Wanted:
    held = _Wanted(notebook.kernelspec)
    for kind in _KINDS:
        cells = getattr(notebook, f"{kind}_cells")
        held.cells[kind] = {cell.name: {name: getattr(cell, name) for name in _COLUMNS[kind]} for cell in cells}
    return held


def _find(gradebook: Gradebook, lesson: str) -> Notebook | None:
    try:
        return gradebook.find_notebook(lesson, lesson)
    except MissingEntry:
        return None


def _differs(gradebook: Gradebook, lesson: str, wanted: _Wanted) -> bool:
    notebook = _find(gradebook, lesson)
    if notebook is None:
        return True
    held = _held(notebook)
    for name, (_, by_hand) in _gone(notebook, wanted).items():
        for kind in _KINDS if by_hand else ():  # it stays whatever we do
            if name not in wanted.cells[kind]:
                held.cells[kind].pop(name, None)
    return held != wanted


def _submissions(gradebook: Gradebook, lesson: str) -> int:
    notebook = _find(gradebook, lesson)
    return len(notebook.submissions) if notebook else 0


def _bring_up(gradebook: Gradebook, lesson: str, wanted: _Wanted) -> list[str]:
    gradebook.update_or_create_assignment(lesson)
    new = _find(gradebook, lesson) is None
    notebook = gradebook.update_or_create_notebook(lesson, lesson, kernelspec=wanted.kernelspec)
    if new:
        for submission in notebook.assignment.submissions:  # handed in before the gradebook knew the notebook
            gradebook.db.add(SubmittedNotebook(notebook=notebook, assignment=submission))
    held = _held(notebook)
    said = ["added to the gradebook"] if new else []
    changed: set[str] = set()
    for kind in _KINDS:
        for name, columns in wanted.cells[kind].items():
            before = held.cells[kind].get(name)
            if before == columns:
                continue
            cell = getattr(gradebook, f"update_or_create_{kind}_cell")(name, lesson, lesson, **columns)
            if before is None and kind != "source":
                _add_to_submissions(gradebook, notebook, cell, kind)
            if before is None and not new and name not in changed:
                said.append(f"{name}: added")
            elif before is not None:
                said += _say_points(cell, before, columns) if kind in ("grade", "task") else []
                said += [f"{name}: text changed"] if kind == "source" else []
            changed.add(name)
    said += _remove_gone(gradebook, notebook, wanted)
    gradebook.db.commit()
    count = len(notebook.submissions)
    if count and not new:
        said.append(f"{count} submissions kept; grade them again (manyheads grade {lesson})")
    return said


def _add_to_submissions(gradebook: Gradebook, notebook: Notebook, cell, kind: str) -> None:
    for submitted in notebook.submissions:
        if kind in ("grade", "task"):
            gradebook.db.add(Grade(cell_id=cell.id, notebook=submitted))
        if kind in ("solution", "task"):
            gradebook.db.add(Comment(cell_id=cell.id, notebook=submitted))
    gradebook.db.commit()


def _say_points(cell, before: dict, after: dict) -> list[str]:
    if before["max_score"] == after["max_score"]:
        return []
    said = [f"{cell.name}: {before['max_score']:g} -> {after['max_score']:g} points"]
    over = sorted(g.student.id for g in cell.grades if (g.manual_score or 0) > after["max_score"])
    if over:
        said.append(f"{cell.name}: the mark given by hand is now above the maximum for {', '.join(over)}")
    return said


def _gone(notebook: Notebook, wanted: _Wanted) -> dict[str, tuple[list, list[str]]]:
    """Cells that left source/: name -> (its rows, with grades and comments; students with something given by hand)."""
    rows: dict[str, list] = {}
    for kind in _KINDS:
        for cell in getattr(notebook, f"{kind}_cells"):
            if cell.name not in wanted.cells[kind]:
                grades, comments = getattr(cell, "grades", None) or [], getattr(cell, "comments", None) or []
                rows.setdefault(cell.name, []).extend([*grades, *comments, cell])
    return {name: (cells, _by_hand(cells)) for name, cells in rows.items()}


def _by_hand(rows: list) -> list[str]:
    grades = [row for row in rows if isinstance(row, Grade)]
    comments = [row for row in rows if isinstance(row, Comment)]
    students = {g.student.id for g in grades if g.manual_score is not None or g.extra_credit is not None}
    return sorted(students | {c.student.id for c in comments if c.manual_comment})


def _remove_gone(gradebook: Gradebook, notebook: Notebook, wanted: _Wanted) -> list[str]:
    """Remove the cells that left source/: all rows of a name together, or none."""
    said = []
    for name, (rows, by_hand) in _gone(notebook, wanted).items():
        if by_hand:
            who = ", ".join(by_hand)
            said.append(f"{name}: KEPT although it left source/: marks or comments given by hand for {who}")
            continue
        scored = sum(isinstance(row, Grade) and row.auto_score is not None for row in rows)
        for row in rows:
            gradebook.db.delete(row)
        said.append(f"{name}: removed" + (f", with {scored} automatic scores" if scored else ""))
    return said


def _back_up(db_url: str, folder: Path) -> list[str]:
    if not db_url.startswith("sqlite:///"):
        return []  # a database server has backups of its own
    copy = back_up(Path(db_url.removeprefix("sqlite:///")), folder)
    return [f"gradebook copied to {folder.name}/{copy.name}"]
