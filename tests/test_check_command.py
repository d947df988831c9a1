"""`manyheads check`: what a student is told about their own notebook."""

import shutil
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner

from manyheads.course import sample
from manyheads.course.lesson import Course
from manyheads.grade import studentrun
from manyheads.grade.commands import check
from manyheads.grade.intake import grade_id
from manyheads.grade.nbgrading import Nbgrader

LESSON = "02_head_split"


@pytest.fixture(scope="module")
def course():
    return Course.find(Path(__file__).parent)


@pytest.fixture
def notebook(course, tmp_path):
    """Write what a sample student hands in, changed by ``edit``, and return its path."""

    def write(student="all-right", edit=lambda nb: None, name=f"{LESSON}.ipynb", **answers):
        nb = sample.hand_in(course, LESSON, student)
        for cell in nb.cells:
            if grade_id(cell) in answers:
                cell.source = answers[grade_id(cell)]
        edit(nb)
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(nb, path)
        return path

    return write


def outcomes(path):
    return {outcome.exercise: str(outcome) for outcome in studentrun.check(path).outcomes}


def run(*arguments):
    return CliRunner().invoke(check, [str(argument) for argument in arguments])


@pytest.mark.slow
def test_a_right_notebook_passes_and_is_told_what_is_left(notebook):
    path = notebook()
    before = path.read_bytes()
    said = run(path)
    assert said.exit_code == 0, said.output
    assert "6 of 6 exercises pass their visible checks" in said.output
    assert "hidden checks decide about the points" in said.output
    assert "20 are checked, 2 are marked by hand" in said.output
    assert "all tests passed" not in said.output.lower()
    assert path.read_bytes() == before


@pytest.mark.slow
def test_the_four_outcomes(notebook):
    path = notebook(
        "half-done",
        fuse_heads="def fuse_heads(per_head):\n    return torch.cat(per_head, dim=0)",
        split_heads="def split_heads(x, num_heads):\n    return x.no_such_thing(num_heads)",
    )
    said = run(path)
    assert said.exit_code == 1
    told = outcomes(path)
    assert told["fuse_heads"].startswith("fuse_heads: not right yet: ")
    assert told["split_heads"].startswith("split_heads: raised an error: AttributeError")
    assert "line 2: return x.no_such_thing(num_heads)" in told["split_heads"]
    assert told["merge_heads"] == "merge_heads: not attempted"
    assert told["choices_02"].startswith("choices_02: visible checks passed (2 hidden checks run")
    for line in told.values():
        assert line.split(": ")[-1].split("\n")[0] in said.output


@pytest.mark.slow
def test_verdicts_agree_with_grading(course, notebook, tmp_path):
    """A relative file is found, input() fails, and a wrong answer is wrong: here as there."""
    answers = {
        "fuse_heads": "dim = int(open('dim.txt').read())\ndef fuse_heads(per_head):\n    return torch.cat(per_head, dim)",
        "split_heads": "ask = input('how many heads? ')\ndef split_heads(x, num_heads):\n    return x",
        "merge_heads": "def merge_heads(x):\n    return x.reshape(x.shape[0], x.shape[2], -1)",
    }
    path = notebook(**answers)
    (tmp_path / "dim.txt").write_text("1")
    said = run(path)
    assert said.exit_code == 1
    assert "StdinNotImplementedError" in said.output
    passed = {outcome.exercise: outcome.passed for outcome in studentrun.check(path).outcomes}

    root = tmp_path / "course"
    root.mkdir()
    shutil.copy(course.root / "nbgrader_config.py", root)
    shutil.copytree(course.folder("source", LESSON), root / "source" / LESSON)
    nbgrader = Nbgrader(Course(root))
    nbgrader.release(LESSON)
    handed_in = nbgrader.hand_in(LESSON, "student", nbformat.read(path, as_version=4))
    shutil.copy(tmp_path / "dim.txt", handed_in.parent)
    nbgrader.autograde(LESSON, "student")
    with nbgrader.gradebook() as gradebook:
        grades = {grade.name: (grade.auto_score, grade.max_score)
                  for grade in gradebook.find_submission_notebook(LESSON, LESSON, "student").grades}
    for exercise, visible in passed.items():
        tests = [pair for name, pair in grades.items() if name.startswith(f"test_{exercise}")]
        assert tests and all(got == most for got, most in tests) == visible, exercise
    assert passed["fuse_heads"] and not passed["split_heads"] and not passed["merge_heads"]


@pytest.mark.slow
def test_a_changed_read_only_cell_is_named(notebook):
    def import_more(nb):
        next(cell for cell in nb.cells if grade_id(cell) == "setup").source += "\nimport numpy as np"

    said = run(notebook(edit=import_more))
    assert "The read-only cell 'setup' was changed" in said.output
    assert "read-only" not in run(notebook()).output


@pytest.mark.slow
def test_a_deleted_a_copied_and_a_broken_cell(notebook):
    def delete(nb):
        nb.cells = [cell for cell in nb.cells if grade_id(cell) != "merge_heads"]

    path = notebook("copied-cell", edit=delete, split_heads="def split_heads(x, num_heads:")
    said = run(path).output
    told = outcomes(path)
    assert told["merge_heads"].startswith("merge_heads: not attempted: merge_heads is not there")
    assert "not attempted" in told["split_heads"]
    assert "In the cell 'split_heads', line 1: SyntaxError" in said
    assert "was there twice: the last copy counts" in said


@pytest.mark.slow
@pytest.mark.parametrize("harm, told", [
    ("import time\ndef split_heads(x, num_heads):\n    time.sleep(99)", "did not end within 10 s"),
    ("import os\ndef split_heads(x, num_heads):\n    os._exit(0)", "Python itself stopped"),
])
def test_a_hang_or_an_exit_is_one_clear_line(notebook, monkeypatch, harm, told):
    monkeypatch.setattr(studentrun, "SECONDS_A_CELL", 10)
    said = run(notebook(split_heads=harm))
    assert said.exit_code == 1
    assert told in said.output and "Traceback" not in said.output


@pytest.mark.parametrize("place", [f"{LESSON}.ipynb", f"my-work/{LESSON}/{LESSON}.ipynb", f"{LESSON}/{LESSON}.ipynb",
                                   f"release/{LESSON}/{LESSON}.ipynb"])
def test_a_lesson_is_found_by_its_name(tmp_path, place):
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    assert studentrun.find(LESSON, tmp_path) == path
    assert studentrun.find(place, tmp_path) == path


def test_a_renamed_copy_is_known_by_what_it_asks(notebook):
    path = notebook(name="my copy (1).ipynb")
    assert studentrun._lesson_of(path, nbformat.read(path, as_version=4)) == LESSON


@pytest.mark.parametrize("content, told", [
    (None, "there is no such notebook"),
    ("not a notebook", "not a notebook that can be read"),
    ('{"cells": [', "not a notebook that can be read"),
    ('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}', "not a notebook of this course"),
])
def test_bad_input_is_one_line(tmp_path, content, told):
    path = tmp_path / "some.ipynb"
    if content is not None:
        path.write_text(content)
    said = run(path)
    assert said.exit_code == 1
    assert told in said.output and len(said.output.strip().splitlines()) == 1
