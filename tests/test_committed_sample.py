"""The graded sample under autograded/: a mixture, without hidden tests, the same whenever it is made."""

import shutil
from pathlib import Path

import nbformat
import pytest

from manyheads.course.lesson import Course
from manyheads.grade import committed, feedback

COURSE = Course.find(Path(__file__).parent)


@pytest.mark.parametrize("lesson", COURSE.lessons())
def test_it_shows_right_and_wrong_answers_and_no_hidden_tests(lesson):
    nb = nbformat.read(committed.place(COURSE, lesson), as_version=4)
    told = [cell.outputs[0].text for cell in nb.cells if feedback.is_test(cell)]
    assert any("Right." in text for text in told) and any("Not right yet: " in text for text in told)
    assert all(" of " in text.split("points.")[0] for text in told)
    source = nbformat.read(COURSE.notebook("source", lesson), as_version=4)
    everything = nbformat.writes(nb)
    for cell in source.cells:
        if feedback.is_test(cell):
            hidden = set(cell.source.split("\n")) - set(feedback.visible_source(cell.source).split("\n"))
            shown = {line for other in nb.cells for line in other.source.split("\n")}
            assert not {line for line in hidden & shown if len(line) > 40}
    assert "HIDDEN TESTS" not in everything and str(COURSE.root) not in everything


@pytest.mark.slow
def test_a_second_refresh_writes_the_same_and_a_change_makes_it_stale(tmp_path):
    """Of the last lesson, whose demonstrations draw random numbers and measure time."""
    lesson = COURSE.lessons()[-1]
    course = Course(tmp_path)
    (tmp_path / "lessons").mkdir()
    shutil.copy(COURSE.text(lesson), tmp_path / "lessons")
    shutil.copy(COURSE.root / "nbgrader_config.py", tmp_path)
    shutil.copytree(COURSE.folder("source", lesson), course.folder("source", lesson))
    assert [stale.why for stale in committed.stale_sample(course)] == ["missing"]
    [path] = committed.refresh_sample(course)
    first = path.read_bytes()
    assert committed.refresh_sample(course) == []
    path.unlink()
    committed.refresh_sample(course)
    assert path.read_bytes() == first
    with course.notebook("source", lesson).open("a") as file:
        file.write("\n")
    assert len(committed.stale_sample(course)) == 1
