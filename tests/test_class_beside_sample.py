"""A real class beside the committed sample: nbgrader's own commands grade it, give feedback and export."""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from small_class import LESSON, RIGHT, released, small_course

from manyheads.course.sample import COMMITTED

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Two students have handed in; the sample lies under autograded/ as in the repository."""
    nbgrader = small_course(tmp_path_factory.mktemp("course"))
    nbgrader.hand_in(LESSON, "ada", released(nbgrader, **RIGHT))
    nbgrader.hand_in(LESSON, "zoe", released(nbgrader))
    sample = nbgrader.place("autograded", LESSON, COMMITTED)
    sample.parent.mkdir(parents=True)
    nbformat.write(released(nbgrader, **RIGHT), sample)
    for command in (["autograde", LESSON], ["generate_feedback", LESSON], ["export", "--to", "grades.csv"]):
        run(nbgrader.course.root, *command)
    return nbgrader


def run(root: Path, *command: str) -> None:
    programs = Path(sys.executable).parent
    done = subprocess.run([programs / "nbgrader", *command], cwd=root, capture_output=True, text=True,
                          env=os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"})
    assert done.returncode == 0, done.stderr
    for trouble in ("ERROR", "Traceback", "not recognized"):
        assert trouble not in done.stderr, done.stderr


def test_the_class_is_graded_and_the_sample_is_nobody(course):
    with course.gradebook() as gradebook:
        assert sorted(student.id for student in gradebook.students) == ["ada", "zoe"]
        scores = {each.student.id: each.score for each in gradebook.assignment_submissions(LESSON)}
    assert scores == {"ada": 5, "zoe": 0}


def test_everybody_but_the_sample_gets_feedback(course):
    pages = sorted(path.parts[-3] for path in course.course.root.glob("feedback/*/*/*.html"))
    assert pages == ["ada", "zoe"]


def test_the_export_has_a_row_for_each_student(course):
    with (course.course.root / "grades.csv").open() as file:
        rows = {row["student_id"]: row["score"] for row in csv.DictReader(file)}
    assert rows == {"ada": "5.0", "zoe": "0.0"}


def test_grading_again_leaves_the_sample_alone(course):
    sample = course.place("autograded", LESSON, COMMITTED)
    before = sample.read_bytes()
    run(course.course.root, "autograde", LESSON, "--force")
    assert sample.read_bytes() == before


def test_formgraders_lists_leave_the_sample_out(course):
    listed = [each["student"] for each in course.api.get_submissions(LESSON)]
    listed += [each["id"] for each in course.api.get_students()]
    assert sorted(set(listed)) == ["ada", "zoe"]


def test_the_repository_ignores_students_and_keeps_the_sample():
    repository = Path(__file__).parents[1]
    if not (repository / ".git").exists() or not shutil.which("git"):
        pytest.skip("no git checkout")

    def ignored(path: str) -> bool:
        return subprocess.run(["git", "check-ignore", "-q", path], cwd=repository).returncode == 0

    assert not ignored(f"autograded/{COMMITTED}/01_motivation/01_motivation.ipynb")
    for private in ("autograded/ada/x.ipynb", "submitted/ada/x.ipynb", "feedback/ada/x.html", "gradebook.db",
                    "grades.csv", "my-work/x.ipynb"):
        assert ignored(private), private
