"""A sample of both banks through nbgrader itself: one wrong and one right answer of each exercise of every lesson.

The whole banks run in one warm process (test_banks.py). Here each lesson is graded twice, in a kernel of its own: all
exercises wrong, and all right in another style. That shows that both ways of running a test cell give the same points.
"""

import nbgrader_class
import pytest
import test_banks as banks

from manyheads.course.build import build_into
from manyheads.course.gradebook import sync
from manyheads.course.lesson import Course

LESSONS = Course.find(banks.HERE).lessons()


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    course = build_into(tmp_path_factory.mktemp("banks") / "course", LESSONS)
    sync(course)
    return nbgrader_class.Class(course)


def first_of_each_exercise(bank, lesson):
    """Exercise -> the first file of the bank that answers it."""
    chosen = {}
    for path in bank:
        number, exercise, _ = banks.of_bank(path)
        if lesson.startswith(f"{number}_"):
            chosen.setdefault(exercise, path)
    return chosen


def graded(school, student, lesson, chosen):
    """Grade the solved lesson with the chosen answers put in; return exercise -> points."""
    notebook = nbgrader_class.solved(school.course, lesson)
    cells = {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells if "nbgrader" in cell.metadata}
    for exercise, path in chosen.items():
        cells[exercise].source = path.read_text(encoding="utf-8")
    school.hand_in(student, lesson, notebook)
    scores = school.autograde(student, lesson)
    return {exercise: sum(scores[cell.metadata.nbgrader.grade_id] for cell in banks.cells_of(lesson[:2], exercise))
            for exercise in chosen}


@pytest.mark.slow
@pytest.mark.parametrize("lesson", LESSONS)
def test_a_wrong_answer_loses_points_in_its_own_exercise(school, lesson):
    chosen = first_of_each_exercise(banks.WRONG, lesson)
    got = graded(school, "wrong", lesson, chosen)
    for exercise, path in chosen.items():
        alone = banks.verdict(path)  # with nothing else wrong
        assert got[exercise] == alone.points < alone.of, path.stem


@pytest.mark.slow
@pytest.mark.parametrize("lesson", LESSONS)
def test_another_style_earns_all_automatic_points(school, lesson):
    chosen = first_of_each_exercise(banks.RIGHT, lesson)
    tested = {cell.metadata.nbgrader.grade_id: cell.metadata.nbgrader.points
              for cell in banks.code_cells(lesson[:2], "test")}
    got = graded(school, "style", lesson, chosen)
    assert got == {exercise: banks.verdict(path).of for exercise, path in chosen.items()}
    assert sum(got.values()) == sum(tested.values())  # no exercise was left out
