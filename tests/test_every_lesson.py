"""What holds for each exercise and each lesson alike."""

import re

import pytest
import test_banks as banks
from lesson_runs import say, solved

from manyheads.check import exercises
from manyheads.course.lesson import asked_names, python_of
from manyheads.learn.content import lesson_texts

EXERCISES = exercises.exercises()
LESSONS = list(dict.fromkeys(entry.lesson for entry in EXERCISES))
each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)


@each_exercise
def test_solved_passes_its_visible_check_and_unsolved_is_not_attempted(exercise):
    names, _ = solved(exercise.lesson[:2])
    passed = say(exercise.name, names)
    assert passed.passed and re.search(rf"\b{exercise.hidden} hidden checks? run", passed.message)

    def stub(*args, **kwargs):
        raise NotImplementedError

    blank = {name: stub if callable(names[name]) else None for name in exercise.names}
    assert say(exercise.name, blank).status == exercises.NOT_ATTEMPTED


@each_exercise
def test_points_names_and_hidden_checks_agree_with_the_lesson(exercise):
    number = exercise.lesson[:2]
    tests = banks.cells_of(number, exercise.name)
    assert len(tests) == exercise.hidden
    assert sum(cell.metadata.nbgrader.points for cell in tests) == exercise.points
    (solution,) = [cell for cell in banks.code_cells(number, "student")
                   if cell.metadata.get("nbgrader", {}).get("grade_id") == exercise.name]
    assert set(exercise.names) <= set(asked_names(python_of(solution)))


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_exercise_has_help_and_every_choice_its_reason(lesson):
    texts = lesson_texts(lesson)
    assert set(texts.hints) == set(texts.symptoms) == {entry.name for entry in exercises.exercises(lesson)}
    assert all(len(hints) <= 3 for hints in texts.hints.values())
    for question in texts.quiz:
        assert sum(choice.right for choice in question.choices) == 1 and all(choice.why for choice in question.choices)


@pytest.mark.parametrize("lesson", LESSONS)
def test_the_written_cell_holds_nothing_but_the_answer(lesson):
    """nbgrader replaces the whole cell: a heading inside it would vanish from the release."""
    (written,) = [cell for cell in banks.notebook(lesson[:2]).cells
                  if cell.metadata.get("nbgrader", {}).get("grade_id") == "written"]
    assert "Marking scheme" in written.source and not re.search(r"^#", written.source, re.M)
