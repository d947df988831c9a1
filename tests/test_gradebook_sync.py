"""`manyheads gradebook sync`: a lesson changes while a class is being graded, and nothing of the class is lost."""

import pytest
from click.testing import CliRunner
from nbgrader_class import Class, blank, solved
from tiny_course import ANSWER, LESSON, TEST_ANSWER, TEST_DOUBLE, text, tiny_course

from manyheads.course import commands
from manyheads.course.build import build
from manyheads.course.gradebook import sync
from manyheads.course.lesson import Refused

ADDED = """
```{code-cell}
---
nbgrader:
  grade_id: answer_more
  solution: true
---
answer_more = None
### BEGIN SOLUTION
answer_more = 42
### END SOLUTION
```

```{code-cell}
---
nbgrader:
  grade: true
  grade_id: test_answer_more
  points: 4
---
# checks: the value
if answer_more is None:
    raise NotAttempted("answer_more is still None")
### BEGIN HIDDEN TESTS
assert answer_more == 42
### END HIDDEN TESTS
```
"""
# test_answer_sum and answer leave; a new question comes; a test of `double` is corrected.
CHANGED = text(answer=ADDED, test_answer="", test_double=TEST_DOUBLE.replace("(3, 7.5)", "(3, 7.5, -4)"))


@pytest.fixture
def graded(tmp_path):
    """A class of two, graded by nbgrader; the teacher marked and commented Ada's work by hand."""
    course = tiny_course(tmp_path / "course")
    build(course, solutions=False)
    assert sync(course) == [f"{LESSON}: added to the gradebook"]
    school = Class(course)
    school.hand_in("ada", LESSON, solved(course, LESSON))
    school.hand_in("bob", LESSON, blank(course, LESSON))
    assert school.autograde("ada", LESSON) == {"test_double_values": 6, "test_answer_sum": 4, "written": None}
    assert school.autograde("bob", LESSON) == {"test_double_values": 0, "test_answer_sum": 0, "written": 0}
    with school.gradebook() as gradebook:
        grade = gradebook.find_grade("written", LESSON, LESSON, "ada")
        grade.manual_score, grade.needs_manual_grade = 1.5, False
        gradebook.find_comment("double", LESSON, LESSON, "ada").manual_comment = "Neat."
        gradebook.update_or_create_assignment(LESSON, duedate="2026-12-01 12:00:00 UTC")
        gradebook.db.commit()
    return school


def rebuild(school, lesson_text):
    school.course.text(LESSON).write_text(lesson_text)
    build(school.course, solutions=False)
    return sync(school.course)


def assert_nothing_by_hand_is_lost(school):
    with school.gradebook() as gradebook:
        assert gradebook.find_grade("written", LESSON, LESSON, "ada").manual_score == 1.5
        assert gradebook.find_comment("double", LESSON, LESSON, "ada").manual_comment == "Neat."
        assert gradebook.find_assignment(LESSON).duedate is not None
        assert {submission.student.id for submission in gradebook.assignment_submissions(LESSON)} == {"ada", "bob"}


@pytest.mark.slow
def test_a_class_is_brought_up_to_a_changed_lesson(graded):
    said = rebuild(graded, CHANGED)
    assert said[0].startswith("gradebook copied to gradebook-backups/")
    assert f"{LESSON}: test_answer_more: added" in said
    assert f"{LESSON}: test_answer_sum: removed, with 2 automatic scores" in said
    assert f"{LESSON}: test_double_values: text changed" in said
    assert any("2 submissions kept" in line for line in said)
    assert len(list((graded.course.root / "gradebook-backups").glob("*.db"))) == 1
    assert_nothing_by_hand_is_lost(graded)
    assert sync(graded.course) == [f"{LESSON}: up to date"]

    # Grading goes on: nbgrader restores the corrected test, and knows the new question.
    # A hand-in from the old release gets the new question too: not answered, and nothing waits for a mark.
    assert graded.autograde("bob", LESSON) == {"test_double_values": 0, "test_answer_more": 0, "written": 0}
    graded.hand_in("ada", LESSON, solved(graded.course, LESSON))
    assert graded.autograde("ada", LESSON) == {"test_double_values": 6, "test_answer_more": 4, "written": None}
    assert "-4" in (graded.course.root / "autograded" / "ada" / LESSON / f"{LESSON}.ipynb").read_text()
    assert_nothing_by_hand_is_lost(graded)


@pytest.mark.slow
def test_a_removed_cell_with_a_mark_or_comment_by_hand_stays_and_is_named(graded):
    with graded.gradebook() as gradebook:
        gradebook.find_grade("test_answer_sum", LESSON, LESSON, "bob").manual_score = 2
        gradebook.find_comment("answer", LESSON, LESSON, "ada").manual_comment = "See me."
        gradebook.db.commit()
    said = rebuild(graded, CHANGED)
    kept = "KEPT although it left source/: marks or comments given by hand for"
    assert f"{LESSON}: test_answer_sum: {kept} bob" in said and f"{LESSON}: answer: {kept} ada" in said
    with graded.gradebook() as gradebook:
        assert gradebook.find_grade("test_answer_sum", LESSON, LESSON, "bob").manual_score == 2
        assert gradebook.find_comment("answer", LESSON, LESSON, "ada").manual_comment == "See me."
    assert sync(graded.course) == [f"{LESSON}: up to date"]  # and no second copy of the gradebook
    assert len(list((graded.course.root / "gradebook-backups").glob("*.db"))) == 1


@pytest.mark.slow
def test_changed_points_reach_the_gradebook_and_a_mark_above_them_is_named(graded):
    with graded.gradebook() as gradebook:
        gradebook.find_grade("test_answer_sum", LESSON, LESSON, "bob").manual_score = 4
        gradebook.db.commit()
    fewer = {"test_answer": TEST_ANSWER.replace("points: 4", "points: 3")}
    said = rebuild(graded, text(**fewer, test_double=TEST_DOUBLE.replace("points: 6", "points: 7")))
    assert f"{LESSON}: test_answer_sum: 4 -> 3 points" in said
    assert f"{LESSON}: test_answer_sum: the mark given by hand is now above the maximum for bob" in said
    with graded.gradebook() as gradebook:
        assert gradebook.find_notebook(LESSON, LESSON).max_score == 12
        assert gradebook.find_grade_cell("test_double_values", LESSON, LESSON).max_score == 7
    assert_nothing_by_hand_is_lost(graded)


def test_the_command_and_a_lesson_that_is_not_built(tmp_path, monkeypatch):
    course = tiny_course(tmp_path / "course", text(answer=ANSWER))
    with pytest.raises(Refused, match="Build the lesson first"):
        sync(course, [LESSON])
    build(course, solutions=False)
    monkeypatch.chdir(course.root)
    result = CliRunner().invoke(commands.gradebook, ["sync"])
    assert result.exit_code == 0 and "added to the gradebook" in result.output
    assert (course.root / "gradebook.db").is_file() and not (course.root / "gradebook-backups").exists()
