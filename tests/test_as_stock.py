"""Honest work gets the same points as from stock nbgrader, which runs tests and answers in one kernel."""

import shutil

import nbformat
import nbgrader_class
import pytest

from manyheads.course import sample
from manyheads.course.build import build_into
from manyheads.course.gradebook import sync
from manyheads.course.lesson import Course
from manyheads.grade import engine

LESSONS = ["02_head_split", "05_full_module"]
# Copied cells are left out: they stop stock nbgrader's whole class.
KINDS = ["all-right", "known-mistakes", "other-style", "partial", "raises", "half-done", "blank"]
STOCK = """
from nbgrader.converters import Autograde as _Autograde
c.Autograde.sanitize_preprocessors = _Autograde.sanitize_preprocessors.default_args[0]
c.Autograde.autograde_preprocessors = _Autograde.autograde_preprocessors.default_args[0]
"""


def scores(course: Course) -> dict:
    with nbgrader_class.Class(course).gradebook() as gradebook:
        return {(lesson, student, grade.name): grade.auto_score for lesson in LESSONS for student in KINDS
                for grade in gradebook.find_submission_notebook(lesson, lesson, student).grades}


@pytest.mark.slow
def test_the_sample_class_gets_the_points_of_stock_nbgrader(tmp_path):
    course = build_into(tmp_path / "ours", LESSONS)
    sync(course)
    for lesson in LESSONS:
        for kind in KINDS:
            path = course.root / "submitted" / kind / lesson / f"{lesson}.ipynb"
            path.parent.mkdir(parents=True)
            nbformat.write(sample.hand_in(course, lesson, kind), path)
    stock = Course(tmp_path / "stock")
    shutil.copytree(course.root, stock.root)
    with open(stock.root / "nbgrader_config.py", "a") as config:
        config.write(STOCK)

    assert engine.grade(course, workers=2).graded == len(LESSONS) * len(KINDS)
    school = nbgrader_class.Class(stock)
    for lesson in LESSONS:
        assert school.api.autograde(lesson, "*", force=True)["success"]
    ours = scores(course)
    assert ours == scores(stock)
    assert len(set(ours.values())) > 3  # full, none, part, to be marked by hand
