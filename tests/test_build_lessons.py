"""Every lesson that exists, graded by nbgrader itself: a blank release earns nothing, the solution everything."""

import pytest
from nbgrader_class import Class, blank, solved
from tiny_course import REPOSITORY

from manyheads.course.build import build_into
from manyheads.course.gradebook import sync
from manyheads.course.lesson import TOTALS, Course

LESSONS = Course(REPOSITORY).lessons()
WRITTEN = 2  # points marked by hand, in every lesson


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    course = build_into(tmp_path_factory.mktemp("lessons") / "course", LESSONS)
    sync(course)
    return Class(course)


@pytest.mark.slow
@pytest.mark.parametrize("lesson", LESSONS)
def test_a_blank_release_earns_no_automatic_points(school, lesson):
    school.hand_in("blank", lesson, blank(school.course, lesson))
    scores = school.autograde("blank", lesson)
    assert scores and all(score == 0 for score in scores.values()), scores


@pytest.mark.slow
@pytest.mark.parametrize("lesson", LESSONS)
def test_the_solution_earns_all_automatic_points(school, lesson):
    school.hand_in("solved", lesson, solved(school.course, lesson))
    scores = school.autograde("solved", lesson)
    assert [name for name, score in scores.items() if score is None] == ["written"]
    assert sum(score or 0 for score in scores.values()) == TOTALS[lesson] - WRITTEN, scores
