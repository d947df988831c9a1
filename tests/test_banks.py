"""Two banks keep the judge honest: wrong answers lose points and are named, right ones in any style lose none.

Each file of tests/mistakes and tests/correct defines the names of one exercise, NN_EXERCISE__slug.py. It is put to the
lesson's own graded test cells of that exercise, hidden tests included. ``python tests/test_banks.py`` prints the table.
"""

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from manyheads.check import catalogue
from manyheads.course.lesson import Course, python_of, read_lesson

HERE = Path(__file__).parent
WRONG = sorted((HERE / "mistakes").glob("*.py"))
RIGHT = sorted((HERE / "correct").glob("*.py"))


@dataclass(frozen=True)
class Verdict:
    points: float
    of: float
    messages: tuple[str, ...]
    mistakes: frozenset[str]  # names from the catalogue


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
            entry = catalogue.named_in(str(problem))
            mistakes.add(getattr(problem, "mistake", None) or (entry.name if entry else None))
        else:
            got += worth if value is None else value
    return Verdict(got, of, tuple(messages), frozenset(mistakes - {None}))


def last_value(source: str, names: dict):
    """Run a cell as nbgrader sees it: the value of its last expression is its points, None is all of them."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<test cell>", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "<test cell>", "eval"), names)


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.stem)
def test_a_wrong_answer_loses_points_and_is_named(path):
    _, exercise, claim = of_bank(path)
    found = verdict(path)
    assert found.points < found.of
    if claim != "-":
        assert claim in found.mistakes, found.messages


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
    rows = [f"{'file':58} points   named"]
    for path in WRONG + RIGHT:
        found = verdict(path)
        named = ", ".join(sorted(found.mistakes)) or ("-" if path in WRONG else "")
        rows.append(f"{path.parent.name + '/' + path.stem:58} {found.points:g} of {found.of:g}   {named}")
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
