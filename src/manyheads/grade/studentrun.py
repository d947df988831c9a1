"""Running a student's own notebook without changing it, and asking the visible checks what they say of it."""

import copy
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError
from nbconvert.filters.ansi import strip_ansi
from nbformat import NotebookNode
from nbgrader.utils import compute_checksum, is_grade, is_locked, is_solution

from manyheads.check.exercises import NOT_ATTEMPTED, OUTCOME_MIME, PASSED, RAISED, Exercise, Outcome, exercises
from manyheads.course.lesson import role_of

from .feedback import TIMED_OUT_ERRORS
from .intake import grade_id, resolve_duplicates

SECONDS_A_CELL = 30  # as nbgrader grants when it grades
LEFT_OUT = ("demo", "check", "test")  # cells that give no answer


class Unusable(Exception):
    """Something that is no notebook of this course, in one line."""


@dataclass
class Checked:
    """What the visible checks say of one notebook."""

    path: Path
    lesson: str
    outcomes: list[Outcome]
    exercises: list[Exercise]
    by_hand: float  # points of written answers
    warnings: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return all(outcome.passed for outcome in self.outcomes)


def find(name: str, folder: Path) -> Path:
    """The notebook that ``name`` means: a file, a folder, or a lesson looked for in ``folder``. Raises Unusable."""
    given = folder / name
    if given.is_file():
        return given
    lesson = name.rstrip("/").removesuffix(".ipynb").split("/")[-1]
    places = [given / f"{lesson}.ipynb"] if given.is_dir() else []
    if lesson == name.removesuffix(".ipynb"):
        file = f"{lesson}.ipynb"
        places += [folder / file, folder / "my-work" / lesson / file, folder / lesson / file,
                   folder / "release" / lesson / file]
    for place in places:
        if place.is_file():
            return place
    looked = f" (looked for {', '.join(str(place.relative_to(folder)) for place in places)})" if places else ""
    raise Unusable(f"{name}: there is no such notebook{looked}")


def check(path: Path) -> Checked:
    """Run the set-up and the student's cells of a notebook in a fresh kernel, then each exercise's visible check.

    The file is only read. The kernel works in the notebook's folder, without a keyboard, as when it is graded.
    Raises Unusable.
    """
    nb = _read(path)
    lesson = _lesson_of(path, nb)
    asked = exercises(lesson)
    warnings = changed_cells(nb) + [sentence.replace("was graded", "counts") for sentence in resolve_duplicates(nb)]
    cells = [cell for cell in nb.cells if cell.cell_type == "code" and role_of(cell) not in LEFT_OUT]
    answers = len(cells)
    for exercise in asked:
        cells.append(nbformat.v4.new_code_cell(_question(exercise)))
    run = nbformat.v4.new_notebook(cells=[copy.deepcopy(cell) for cell in cells], metadata=nb.metadata)
    died = _run(run, path.parent)
    warnings += [said for cell in run.cells[:answers] if (said := _error(cell))]
    if died:
        warnings.append(died)
    outcomes = [_outcome(exercise, cell) for exercise, cell in zip(asked, run.cells[answers:], strict=True)]
    by_hand = sum(float(cell.metadata.nbgrader.get("points", 0)) for cell in nb.cells if is_grade(cell) and is_solution(cell))
    return Checked(path, lesson, outcomes, asked, by_hand, warnings)


def changed_cells(nb: NotebookNode) -> list[str]:
    """A warning for each read-only cell that is no longer as it was released: grading puts the original back."""
    warnings = []
    for cell in nb.cells:
        name = grade_id(cell)
        if name is None or not is_locked(cell):
            continue
        released = cell.metadata.nbgrader.get("checksum")
        if released is not None and released != compute_checksum(cell):
            warnings.append(f"The read-only cell {name!r} was changed. It is graded as it was released, so move what "
                            "you added (an import, say) to a cell of your own.")
    return warnings


def _read(path: Path) -> NotebookNode:
    try:
        nb = nbformat.read(path, as_version=4)
        nbformat.validate(nb)
    except OSError as problem:
        raise Unusable(f"{path}: {problem.strerror}") from None
    except Exception as problem:  # not JSON, not a notebook, of a later format
        reason = (str(problem).strip() or type(problem).__name__).splitlines()[0]
        raise Unusable(f"{path} is not a notebook that can be read: {reason[:120]}") from None
    return nb


def _lesson_of(path: Path, nb: NotebookNode) -> str:
    """By what it asks for, since a copy may have any file name."""
    in_it = {grade_id(cell) for cell in nb.cells} - {None}
    all_lessons = {entry.lesson for entry in exercises()}
    if path.stem in all_lessons:
        return path.stem
    asked = {lesson: {f"test_{entry.name}" for entry in exercises(lesson)} for lesson in all_lessons}
    scores = {lesson: sum(any(name.startswith(test) for name in in_it) for test in tests)
              for lesson, tests in asked.items()}
    best = max(scores, key=scores.get, default=None)
    if not best or not scores[best]:
        raise Unusable(f"{path} is not a notebook of this course (lessons: {', '.join(sorted(all_lessons))})")
    return best


def _question(exercise: Exercise) -> str:
    """Code for the student's kernel that shows the outcome of one exercise."""
    return (f"from manyheads.check.exercises import visible as _visible\n"
            f"_missing = [name for name in {exercise.names!r} if name not in globals()]\n"
            f"if not _missing:\n"
            f"    _visible({exercise.name!r}, *(globals()[name] for name in {exercise.names!r}))\n"
            f"_missing")


def _run(nb: NotebookNode, folder: Path) -> str:
    """Execute in place; return a sentence if the kernel died."""
    nb.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    client = NotebookClient(nb, timeout=SECONDS_A_CELL, interrupt_on_timeout=True, allow_errors=True,
                            error_on_timeout={"ename": "CellTimeoutError", "evalue": "", "traceback": [""]},
                            shutdown_kernel="immediate", record_timing=False,
                            extra_arguments=["--Application.log_level=ERROR"],
                            resources={"metadata": {"path": str(folder.resolve())}})
    environment = os.environ | {"NBGRADER_EXECUTION": "validate", "OMP_NUM_THREADS": "1"}
    try:
        client.execute(env=environment)
    except DeadKernelError:
        return "Python itself stopped while your code ran (out of memory, or a call that ends the process)."
    return ""


def _error(cell: NotebookNode) -> str:
    for output in cell.outputs:
        if output.output_type == "error" and output.ename != "NotImplementedError":
            where = f"the cell {grade_id(cell)!r}" if grade_id(cell) else f"a cell ({cell.source.split(chr(10))[0]!r} …)"
            if output.ename in TIMED_OUT_ERRORS:
                return f"In {where}: stopped after {SECONDS_A_CELL} s."
            line = re.findall(r"(?:Cell|Input) In ?\[\d+\], line (\d+)", strip_ansi("\n".join(output.traceback)))
            return f"In {where}{f', line {line[0]}' if line else ''}: {output.ename}: {output.evalue}"
    return ""


def _outcome(exercise: Exercise, cell: NotebookNode) -> Outcome:
    for output in cell.outputs:
        if output.output_type == "display_data" and OUTCOME_MIME in output.data:
            said = output.data[OUTCOME_MIME]
            return Outcome(**(json.loads(said) if isinstance(said, str) else said))
        if output.output_type == "error":
            if output.ename in TIMED_OUT_ERRORS:
                return Outcome(exercise.name, RAISED, f"it did not end within {SECONDS_A_CELL} s")
            return Outcome(exercise.name, RAISED, f"{output.ename}: {output.evalue}")
        if output.output_type == "execute_result" and output.data.get("text/plain", "[]") != "[]":
            missing = re.findall(r"'(\w+)'", output.data["text/plain"])
            return Outcome(exercise.name, NOT_ATTEMPTED, f"{' and '.join(missing)} "
                           f"{'is' if len(missing) == 1 else 'are'} not there: was the cell deleted, or did it stop?")
    return Outcome(exercise.name, RAISED, "Python stopped before this check")


def report(checked: Checked) -> list[str]:
    """Lines for the screen: one an exercise, and what these checks leave open."""
    lines = [f"{checked.lesson}  ({checked.path})"]
    width = max(len(entry.name) for entry in checked.exercises)
    for entry, outcome in zip(checked.exercises, checked.outcomes, strict=True):
        mark = "+" if outcome.status == PASSED else "-"
        separator = " " if outcome.passed else ": "
        said = outcome.status + (f"{separator}{outcome.message}" if outcome.message else "")
        lines.append(f"  {mark} {entry.name:<{width}}  {entry.points:>2g} point{'s' if entry.points != 1 else ' '}  "
                     + said.replace("\n", "\n" + " " * (width + 17)))
    lines += [f"  ! {warning}" for warning in checked.warnings]
    automatic = sum(entry.points for entry in checked.exercises)
    passed = sum(outcome.passed for outcome in checked.outcomes)
    hidden = sum(entry.hidden for entry in checked.exercises)
    lines.append(f"  {passed} of {len(checked.outcomes)} exercises pass their visible checks. "
                 f"{hidden} hidden checks decide about the points; they run when this is graded.")
    lines.append(f"  Of {automatic + checked.by_hand:g} points, {automatic:g} are checked, "
                 f"{checked.by_hand:g} are marked by hand (by yourself, if you learn alone).")
    return lines
