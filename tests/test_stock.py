"""Calling nbgrader: what it needs on the path, and what it makes of Ctrl-C."""

import os
import shutil

import pytest
from small_class import LESSON, released, small_course

from manyheads.course.stock import find_tools
from manyheads.grade.intake import Intake
from manyheads.grade.isolation import Graded, Workshop
from manyheads.grade.nbgrading import Failed


def test_nbgraders_programs_are_found_without_an_activated_environment(monkeypatch):
    monkeypatch.setenv("PATH", os.defpath)
    assert shutil.which("alembic") is None
    find_tools()
    assert shutil.which("alembic") is not None


def test_grading_that_is_broken_off_is_no_failed_grading(tmp_path, monkeypatch):
    nbgrader = small_course(tmp_path)
    nbgrader.hand_in(LESSON, "ada", released(nbgrader))

    def broken_off(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Intake, "preprocess", broken_off)
    with pytest.raises(KeyboardInterrupt):
        nbgrader.autograde(LESSON, "ada")


def test_a_hand_in_that_takes_too_long_to_examine_gets_no_grade(tmp_path, monkeypatch):
    nbgrader = small_course(tmp_path)
    nbgrader.hand_in(LESSON, "ada", released(nbgrader))
    monkeypatch.setattr(Workshop, "grade", lambda *_: Graded("failed", "its examination took too long"))
    with pytest.raises(Failed, match="ada, small: its examination took too long"):
        nbgrader.autograde(LESSON, "ada")
