"""Two banks keep the judge honest: wrong answers lose points and are named, right ones in any style lose none.

Each file of tests/mistakes and tests/correct defines the names of one exercise, NN_EXERCISE__slug.py. It is put to the
lesson's own graded test cells of that exercise, hidden tests included. The first line of a wrong one says how it should be
named: by a mistake of the catalogue, by a probe (``probe: reversed``), or ``own error`` where the student reads their own
exception and the line it comes from. ``python tests/test_banks.py`` prints the table.
"""

import ast
import traceback
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from manyheads.check import NotAttempted, NotRight, catalogue
from manyheads.course.lesson import Course, python_of, read_lesson
from manyheads.grade import feedback

HERE = Path(__file__).parent
WRONG = sorted((HERE / "mistakes").glob("*.py"))
RIGHT = sorted((HERE / "correct").glob("*.py"))


@dataclass(frozen=True)
class Verdict:
    points: float
    of: float
    messages: tuple[str, ...]
    mistakes: frozenset[str]  # names of the catalogue or of a probe


@cache
def notebook(number: str):
    course = Course.find(HERE)
    (lesson,) = [name for name in course.lessons() if name.startswith(f"{number}_")]
    return read_lesson(course.text(lesson).read_text(encoding="utf-8"), lesson)


def code_cells(number: str, role: str):
    return [cell for cell in notebook(number).cells
            if cell.cell_type == "code" and cell.metadata.manyheads.role == role]


def cells_of(number: str, exercise: str):
    """The graded test cells of an exercise: test_EXERCISE and test_EXERCISE_ASPECT."""
    found = [cell for cell in code_cells(number, "test")
             if f"{cell.metadata.nbgrader.grade_id}_".startswith(f"test_{exercise}_")]
    assert found, f"lesson {number} has no test of {exercise}"
    return found


def of_bank(path: Path) -> tuple[str, str, str]:
    """Lesson number, exercise, and what the header line claims."""
    number, exercise = path.name.split("__")[0].split("_", 1)
    return number, exercise, path.read_text(encoding="utf-8").splitlines()[0].partition(": ")[2]


@cache
def verdict(path: Path) -> Verdict:
    number, exercise, _ = of_bank(path)
    names = {}
    for cell in code_cells(number, "setup"):
        exec(python_of(cell), names)
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    got, of, messages, mistakes = 0.0, 0.0, [], set()
    for cell in cells_of(number, exercise):
        worth = cell.metadata.nbgrader.points
        of += worth
        try:
            value = last_value(python_of(cell), names)
        except Exception as problem:
            messages.append(f"{type(problem).__name__}: {problem}")
            mistakes.add(name_of(problem, path))
        else:
            got += worth if value is None else value
    return Verdict(got, of, tuple(messages), frozenset(mistakes - {None}))


def last_value(source: str, names: dict):
    """Run a cell as nbgrader sees it: the value of its last expression is its points, None is all of them."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<test cell>", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "<test cell>", "eval"), names)


def name_of(problem: Exception, path: Path) -> str | None:
    """What the student is told: a mistake, their own error, or None where nothing better was found."""
    if isinstance(problem, NotAttempted | NotImplementedError):
        return "not attempted"
    if isinstance(problem, NotRight):
        entry = catalogue.named_in(str(problem))
        return problem.mistake or (entry.name if entry else None)
    theirs = [frame for frame in traceback.extract_tb(problem.__traceback__) if frame.filename == str(path)]
    return "own error" if theirs else None


def rightly_named(path: Path) -> bool:
    return of_bank(path)[2] in verdict(path).mistakes


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.stem)
def test_a_wrong_answer_loses_points(path):
    found = verdict(path)
    assert found.points < found.of


def test_wrong_answers_are_named_as_their_header_says():
    others = [f"{path.stem}: {of_bank(path)[2]!r} is not in {sorted(verdict(path).mistakes)}"
              for path in WRONG if not rightly_named(path)]
    assert len(others) <= 0.05 * len(WRONG), "\n".join(others)


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.stem)
def test_every_message_is_short(path):
    """Three lines at most, as the feedback page breaks them, however many checks there are."""
    for message in verdict(path).messages:
        if message.startswith("NotRight: "):
            assert str(feedback.Verdict(feedback.NOT_RIGHT, message.removeprefix("NotRight: "))).count("\n") < 3, message


@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.stem)
def test_a_right_answer_in_any_style_gets_full_points(path):
    found = verdict(path)
    assert found.messages == ()
    assert found.points == found.of


@pytest.mark.parametrize("number", sorted({of_bank(path)[0] for path in WRONG + RIGHT}))
def test_every_exercise_has_both_kinds(number):
    """At least three wrong and two right answers for each function, one of each for other answers."""
    asked = {}
    for path in WRONG + RIGHT:
        lesson, exercise, _ = of_bank(path)
        if lesson == number:
            counts = asked.setdefault(exercise, {WRONG[0].parent: 0, RIGHT[0].parent: 0})
            counts[path.parent] += 1
    tested = {cell.metadata.nbgrader.grade_id for cell in code_cells(number, "test")}
    covered = {cell.metadata.nbgrader.grade_id for exercise in asked for cell in cells_of(number, exercise)}
    assert covered == tested
    for exercise, counts in asked.items():
        is_code = any(f"def {exercise}" in cell.source or f"class {exercise}" in cell.source
                      for cell in code_cells(number, "student"))
        wrong, right = counts.values()
        assert (wrong, right) >= ((3, 2) if is_code else (1, 1)), exercise


def test_every_catalogue_mistake_that_can_be_computed_is_in_the_bank():
    """A name without a file that makes the mistake is a sentence that nobody has ever seen."""
    numbers = {of_bank(path)[0] for path in WRONG}
    claimed = {(of_bank(path)[1], of_bank(path)[2]) for path in WRONG}
    exercises = {exercise for exercise, _ in claimed}
    known = {(entry.exercise, entry.name) for entry in catalogue.mistakes() if entry.exercise in exercises}
    assert numbers and known <= claimed, known - claimed


def test_table(capsys):
    with capsys.disabled():
        print("\n" + table())


def table() -> str:
    rows = [f"{'file':66} {'lost':>9}  {'right name':10}  named"]
    for path in WRONG + RIGHT:
        found = verdict(path)
        named = ", ".join(sorted(found.mistakes))
        judged = "" if path in RIGHT else "yes" if rightly_named(path) else f"no: {of_bank(path)[2]}"
        rows.append(f"{path.parent.name + '/' + path.stem:66} {found.of - found.points:>3g} of {found.of:<2g}  {judged:10}  {named}")
    caught = sum(verdict(path).points < verdict(path).of for path in WRONG)
    right = sum(verdict(path).points == verdict(path).of for path in RIGHT)
    named = sum(map(rightly_named, WRONG))
    rows.append(f"wrong caught {caught} of {len(WRONG)} / named {named} of {len(WRONG)} ({named / len(WRONG):.1%}) / "
                f"right accepted {right} of {len(RIGHT)}")
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
