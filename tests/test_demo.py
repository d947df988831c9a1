"""The main job on the lessons that exist: a sample class from release to a table of grades."""

import csv
import io
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from manyheads.course import sample
from manyheads.course.lesson import Course, is_solution, read_lesson
from manyheads.grade import demo, feedback, table
from manyheads.grade.commands import demo as command
from manyheads.grade.nbgrading import Nbgrader

COURSE = Course.find(Path(__file__).parent)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return demo.run(tmp_path_factory.mktemp("demo") / "course", origin=COURSE)


def of(made, student):
    """What a student handed in."""
    found = [submission for class_ in made.class_.values() for submission in class_
             if submission.student == student and submission.status != table.MISSING]
    assert found
    return found


def automatic(made, submission):
    return [(question, submission.marks[question.name]) for question in table.questions(made.nbgrader, submission.lesson)
            if not question.by_hand]


@pytest.mark.parametrize("lesson", COURSE.lessons())
def test_the_sample_class_has_a_mistake_for_every_exercise(lesson):
    lesson_cells = read_lesson(COURSE.text(lesson).read_text(encoding="utf-8"), lesson).cells
    asked = {cell.metadata.nbgrader.grade_id for cell in lesson_cells if is_solution(cell) and cell.cell_type == "code"}
    answers = sample.answers(lesson)
    assert set(answers["mistake"]) == asked
    for kind, table_ in answers.items():
        assert kind == "written" or set(table_) <= asked, kind
    assert {"style", "partial", "raises", "written"} <= set(answers)


def test_not_everybody_hands_in_everything():
    """At least four for each lesson, two lessons of everybody, and not so many that the demo gets slow."""
    lessons = range(len(COURSE.lessons()))
    handed_in = {(student.name, place) for student in sample.STUDENTS for place in lessons
                 if sample.hands_in(student, place)}
    assert len(sample.STUDENTS) >= 8 and len(lessons) == 5
    assert all(sum(place == other for _, other in handed_in) >= 4 for place in lessons)
    for student in sample.STUDENTS:
        count = sum(name == student.name for name, _ in handed_in)
        assert count == 5 if student.name in ("all-right", "known-mistakes") else 2 <= count <= 3
    assert len(handed_in) <= 24


@pytest.mark.slow
def test_what_was_handed_in_is_graded_and_gets_feedback_and_the_rest_is_missing(made):
    assert made.problems == []
    for place, lesson in enumerate(made.lessons):
        for student, submission in zip(sample.STUDENTS, made.class_[lesson], strict=True):
            assert submission.student == student.name
            if sample.hands_in(student, place):
                assert submission.status == table.GRADED
            else:
                assert (submission.status, submission.score) == (table.MISSING, None)
            page = made.nbgrader.place("feedback", lesson, student.name).with_suffix(".html")
            assert page.is_file() == (page in made.feedback) == sample.hands_in(student, place)


@pytest.mark.slow
@pytest.mark.parametrize("student", ["all-right", "copied-cell", "other-style"])
def test_right_work_gets_all_points(made, student):
    for submission in of(made, student):
        for question, mark in automatic(made, submission):
            assert (mark.got, mark.status) == (question.points, feedback.RIGHT), (submission.lesson, question.name)


@pytest.mark.slow
def test_a_blank_notebook_gets_none_and_is_not_attempted(made):
    for submission in of(made, "blank"):
        assert submission.score == 0
        assert {mark.status for _, mark in automatic(made, submission)} == {feedback.NOT_ATTEMPTED}


@pytest.mark.slow
def test_each_known_mistake_costs_points_and_is_told(made):
    for submission in of(made, "known-mistakes"):
        for question, mark in automatic(made, submission):
            assert mark.got < question.points, (submission.lesson, question.name)
            assert mark.messages, (submission.lesson, question.name)
        assert sum(bool(mark.mistakes) for _, mark in automatic(made, submission)) >= 3, submission.lesson


@pytest.mark.slow
@pytest.mark.parametrize("student", ["half-done", "partial", "raises"])
def test_unfinished_work_gets_some_points(made, student):
    for submission in of(made, student):
        assert 0 < submission.score < sum(question.points for question, _ in automatic(made, submission))
    statuses = {mark.status for submission in of(made, student) for _, mark in automatic(made, submission)}
    assert {"half-done": feedback.NOT_ATTEMPTED, "partial": feedback.PARTLY, "raises": feedback.RAISED}[student] in statuses


@pytest.mark.slow
def test_the_tables_and_the_csv_show_the_class(made):
    console = Console(record=True, width=150, quiet=False, file=io.StringIO())
    demo.show(made, console)
    text = console.export_text()
    for student in sample.STUDENTS:
        assert student.name in text
    assert text.count("Repaired, copied-cell: The cell") == 2 * len(of(made, "copied-cell"))
    assert "graded, 2 open" in text and "view-only split" in text
    assert str(made.csv) in text
    overview = text[text.index("The class: points checked automatically"):].splitlines()
    for student in ("blank", "known-mistakes"):
        (row,) = [[cell.strip() for cell in line.split("│")[2:-1]] for line in overview if f"│ {student} " in line]
        for shown, lesson in zip(row, made.lessons, strict=True):
            (submission,) = [each for each in made.class_[lesson] if each.student == student]
            # Written answers are marked by hand, so all points so far are automatic.
            assert shown == (table.MISSING if submission.score is None else f"{submission.score:g}")
    with made.csv.open() as file:
        rows = {(row["assignment"], row["student_id"]): float(row["score"]) for row in csv.DictReader(file)}
    for class_ in made.class_.values():
        for submission in class_:
            # nbgrader writes 0 where a submission is missing; the demo says so.
            assert rows[submission.lesson, submission.student] == (submission.score or 0)


@pytest.mark.slow
def test_a_submission_that_cannot_be_read_is_not_graded_which_is_not_0(tmp_path, monkeypatch):
    lesson = COURSE.lessons()[0]
    here = Course(tmp_path / "here")
    (here.root / "lessons").mkdir(parents=True)
    shutil.copy(COURSE.root / "nbgrader_config.py", here.root)
    shutil.copy(COURSE.text(lesson), here.root / "lessons")
    monkeypatch.chdir(here.root)
    monkeypatch.setattr(sample, "STUDENTS", [each for each in sample.STUDENTS if each.name in ("half-done", "all-right")])
    hand_in = Nbgrader.hand_in

    def garble(self, lesson, student, nb):
        path = hand_in(self, lesson, student, nb)
        if student == "half-done":
            path.write_text('{"cells": [')

    monkeypatch.setattr(Nbgrader, "hand_in", garble)
    said = CliRunner().invoke(command, ["--keep", str(tmp_path / "made")], env={"COLUMNS": "150"})
    assert said.exit_code == 1
    assert f"not everything worked: grading {lesson} of half-done" in said.output
    rows = {line.split("│")[1].strip(): line for line in said.output.splitlines() if line.startswith("│ ")
            and line.count("│") > 5}
    assert "not graded" in rows["half-done"] and rows["half-done"].split("│")[2].strip() == "–"
    assert "graded" in rows["all-right"] and "not graded" not in rows["all-right"]


def test_a_folder_in_use_is_refused(tmp_path):
    (tmp_path / "mine.txt").touch()
    said = CliRunner().invoke(command, ["--keep", str(tmp_path)])
    assert said.exit_code == 1 and "is not empty" in said.output
