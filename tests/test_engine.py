"""`manyheads grade`: a class graded in parallel, interrupted, changed and graded again. The examiner is a stand-in."""

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner
from small_class import LESSON, RIGHT, released, small_course
from sqlalchemy.exc import OperationalError
from test_record import tables

from manyheads.cli import main
from manyheads.course import sample
from manyheads.course.build import build_into
from manyheads.course.lesson import Course
from manyheads.grade import engine, intake, record
from manyheads.grade.engine import Stop
from manyheads.grade.intake import grade_id
from manyheads.grade.isolation import Broken, Graded, NotStarted, Question, Settings
from manyheads.grade.nbgrading import Nbgrader
from manyheads.grade.record import Ledger, database
from manyheads.grade.sandbox import probe

VERSION = "the grader as it is"
TESTS = ("test_double_values", "test_double_kinds", "test_answer")
WRONG = {**RIGHT, "double": "def double(x):\n    return x"}


class Examiner:
    """Stands in for a Workshop: grades by the text of the answers, and notes in a file what it was asked."""

    log = Path(os.environ.get("EXAMINER_LOG", os.devnull))
    seconds = float(os.environ.get("EXAMINER_SECONDS", "0"))

    def __init__(self, settings):
        Examiner.settings = settings
        self.closed = threading.Event()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.closed.set()

    def grade(self, job):
        asked = [name for name in TESTS if name not in job.keep]
        with self.log.open("a") as log:
            log.write(json.dumps([_writer(job.submission), asked]) + "\n")
        if self.closed.wait(self.seconds):
            raise Broken("closed")
        if b"break the examiner" in job.submission:
            raise Broken("the examiner ended without an answer")
        source = nbformat.reads(job.source.decode(), as_version=4)
        try:
            nb, repaired = intake.rebuild(intake.parse(job.submission), source)
        except intake.Unreadable as problem:
            return Graded("unreadable", str(problem))
        questions = {}
        sources = {grade_id(cell): cell.source for cell in nb.cells if grade_id(cell)}
        for cell in nb.cells:
            name = grade_id(cell)
            if name == "written":
                questions[name] = Question("by hand", of=2)
            elif name in job.keep:
                cell.outputs = job.keep[name]["outputs"]
                questions[name] = Question("graded", points=-1, of=9)  # the engine knows better
            elif name in TESTS:
                most = cell.metadata.nbgrader.points
                answer = "answer" if name == "test_answer" else "double"
                got = most if sources[answer] == RIGHT[answer] else 0
                got = got / 2 if "stricter" in cell.source else got
                cell.outputs = [nbformat.v4.new_output("execute_result", {"text/plain": str(got)}, execution_count=1)]
                questions[name] = Question("graded", "" if got == most else f"{answer} is wrong", points=got, of=most)
        return Graded("graded", "", nbformat.writes(nb).encode(), questions, repaired, [], {"all": 0.1}, "full")


def _writer(submission):
    """The student who wrote a hand-in: its written answer says so."""
    found = re.search(rb"I am (\w+)", submission)
    return found[1].decode() if found else None


@pytest.fixture(scope="module")
def synced(tmp_path_factory):
    """A course that was graded once, for Zoe."""
    root = tmp_path_factory.mktemp("synced")
    small_course(root)
    (root / "lessons").mkdir()
    hand_in(Course(root), "zoe")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "version", lambda settings: VERSION)
        assert engine.grade(Course(root), workshop=Examiner).graded == 1
    return root


@pytest.fixture
def course(synced, tmp_path, monkeypatch):
    shutil.copytree(synced, tmp_path / "course")
    monkeypatch.setattr(Examiner, "log", tmp_path / "examined")
    monkeypatch.setattr(engine, "Workshop", Examiner)
    monkeypatch.setattr(engine, "version", lambda settings: VERSION)
    monkeypatch.chdir(tmp_path / "course")
    return Course(tmp_path / "course")


def hand_in(course, student, answers=RIGHT, name=f"{LESSON}.ipynb", **files):
    folder = course.root / "submitted" / student / LESSON
    folder.mkdir(parents=True, exist_ok=True)
    nb = released(Nbgrader(course), **{**answers, "written": f"I am {student}."})
    nbformat.write(nb, folder / name)
    for file, text in files.items():
        (folder / file.replace("_", ".")).write_text(text)
    return folder / name


def grade(course, *lessons, **options):
    return engine.grade(course, lessons, **{"workers": 2, **options})


def examined():
    """What the examiner was asked since the last time: (student, test cells) of each call."""
    calls = [tuple(json.loads(line)) for line in Examiner.log.read_text().splitlines()] if Examiner.log.exists() else []
    Examiner.log.unlink(missing_ok=True)
    return sorted(calls, key=str)


def points(course, student):
    with Nbgrader(course).gradebook() as gradebook:
        notebook = gradebook.find_submission_notebook(LESSON, LESSON, student)
        return {grade.name: grade.auto_score for grade in notebook.grades}


def entry(course, student):
    ledger = Ledger(database(course))
    with closing(ledger):
        return ledger.entry(LESSON, student)


def autograded(course, student):
    return course.root / "autograded" / student / LESSON


def state(course):
    """Everything that grading leaves: nbgrader's tables, our own, and the files."""
    ledger = Ledger(database(course))
    with closing(ledger):
        ours = [(one.lesson, one.student, one.status, one.reason, one.digest, one.questions, one.digests, one.notebook)
                for one in ledger.entries()]
    root = course.root / "autograded"
    files = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    return tables(database(course)), ours, files


def change_source(course, line, before):
    """Put a line before a line of a cell."""
    path = course.notebook("source", LESSON)
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, f'{line}\\n",\n    "{before}'))


def test_a_class_is_graded_and_then_up_to_date(course, monkeypatch):
    hand_in(course, "ada", timestamp_txt="2026-05-01 12:00:00 UTC", data_csv="1,2")
    hand_in(course, "bob", WRONG)
    hand_in(course, ".hidden")
    outcome = grade(course)
    assert (outcome.graded, outcome.up_to_date, outcome.troubles) == (2, 1, [])
    assert points(course, "ada") == {"test_double_values": 2, "test_double_kinds": 2, "test_answer": 1, "written": None}
    assert points(course, "bob")["test_double_values"] == 0 == points(course, "bob")["test_double_kinds"]
    assert {path.name: path.stat().st_mode & 0o777 for path in autograded(course, "ada").iterdir()} == {
        f"{LESSON}.ipynb": 0o444, "timestamp.txt": 0o444, "data.csv": 0o444}
    assert str(Nbgrader(course).api.get_submission(LESSON, "ada")["timestamp"]).startswith("2026-05-01T12:00")
    assert len(list((course.root / "gradebook-backups").glob("*.db"))) == 2
    assert {call[0] for call in examined()} == {"ada", "bob"}

    outcome = grade(course)
    assert (outcome.graded, outcome.up_to_date, examined()) == (0, 3, [])
    assert len(list((course.root / "gradebook-backups").glob("*.db"))) == 2  # nothing changed, nothing to copy
    assert not list((course.root / "autograded").glob(".*"))

    hand_in(course, "bob", RIGHT)  # bob hands in again
    shutil.rmtree(autograded(course, "ada"))
    outcome = grade(course)
    assert (outcome.graded, outcome.up_to_date) == (2, 1)
    assert {(change.student, change.grade_id, change.old, change.new) for change in outcome.changes} == {
        ("bob", "test_double_values", 0, 2), ("bob", "test_double_kinds", 0, 2)}
    examined()
    assert grade(course, force=True).graded == 3
    assert examined() == [(student, [*TESTS]) for student in ("ada", "bob", "zoe")]
    assert grade(course, students=["bob"], force=True).graded == 1
    examined()
    monkeypatch.setattr(engine, "version", lambda settings: "another grader")
    assert grade(course).graded == 3 and ("bob", [*TESTS]) in examined()


def test_what_cannot_be_graded_has_a_named_status_and_costs_nobody_else_anything(course):
    hand_in(course, "ada")
    hand_in(course, "broken", {**RIGHT, "double": "# break the examiner"})
    hand_in(course, "cut").write_text('{"cells": [')
    hand_in(course, "empty").unlink()
    hand_in(course, "renamed", name="small (1).ipynb")
    (course.root / "submitted" / "ada" / "smal").mkdir()
    (course.root / "submitted" / "file").mkdir()
    (course.root / "submitted" / "file" / LESSON).write_text("no folder")
    os.mkdir(os.fsencode(course.root / "submitted") + b"/\xff\xfe")
    os.mkdir(os.fsencode(course.root / "submitted") + b"/\xff\xfe/" + LESSON.encode())
    result = CliRunner().invoke(main, ["grade", "--workers", "2"])
    assert result.exit_code == 3, result.output
    said = result.output
    assert "broken small: failed: the examiner ended without an answer" in said
    assert "cut small: unreadable: the file is cut off" in said
    assert "empty small: missing: no notebook small.ipynb was handed in" in said
    assert "file small: unreadable: where the hand-in folder should be there is a file" in said
    assert "ada smal: missing: there is no lesson of this name" in said
    assert r"\udcff\udcfe small: failed: the folder's name is not UTF-8" in said
    assert "graded 2 in" in said and "skipped 1 up to date" in said
    assert [entry(course, name).status for name in ("ada", "broken", "cut", "empty")] == [
        "graded", "failed", "unreadable", "missing"]
    assert points(course, "renamed")["test_double_values"] == 2
    assert "small (1).ipynb was taken for small.ipynb" in entry(course, "renamed").repaired[0]
    assert "was taken for" in (autograded(course, "renamed") / f"{LESSON}.ipynb").read_text()
    with Nbgrader(course).gradebook() as gradebook:
        assert {student.id for student in gradebook.students} == {"ada", "renamed", "zoe"}

    # Still so: only what failed is tried again.
    examined()
    result = CliRunner().invoke(main, ["grade"])
    assert result.exit_code == 3 and "cut small: unreadable: the file is cut off" in result.output
    assert {call[0] for call in examined()} == {"broken"}


def test_an_unreadable_hand_in_after_a_good_one_leaves_the_marks(course):
    hand_in(course, "ada")
    grade(course)
    before, notebook = tables(database(course)), (autograded(course, "ada") / f"{LESSON}.ipynb").read_bytes()
    hand_in(course, "ada").write_text("not a notebook")
    (trouble,) = grade(course).troubles
    assert trouble.status == "unreadable" and trouble.why.endswith("; the marks of the earlier hand-in stand")
    assert tables(database(course)) == before and entry(course, "ada").stands
    assert (autograded(course, "ada") / f"{LESSON}.ipynb").read_bytes() == notebook
    assert grade(course).troubles == [trouble]  # still so, and not examined again
    hand_in(course, "ada", WRONG)
    assert grade(course).graded == 1 and not entry(course, "ada").stands


def test_a_changed_test_grades_only_its_own_question_again(course):
    hand_in(course, "ada")
    hand_in(course, "bob", WRONG)
    grade(course)
    with Nbgrader(course).gradebook() as gradebook:
        mark = gradebook.find_grade("written", LESSON, LESSON, "ada")
        mark.manual_score, mark.needs_manual_grade = 1.5, False
        gradebook.db.commit()
    examined()
    change_source(course, "# stricter", "check.exact_answer(answer, 98765")
    result = CliRunner().invoke(main, ["grade"])
    assert result.exit_code == 0, result.output
    assert examined() == [(student, ["test_answer"]) for student in ("ada", "bob", "zoe")]
    assert "small: test_answer: text changed" in result.output
    assert "ada small test_answer: 1 -> 0.5 (graded again)" in result.output
    assert points(course, "ada") == {
        "test_double_values": 2, "test_double_kinds": 2, "test_answer": 0.5, "written": None}
    questions = entry(course, "bob").questions
    assert (questions["test_double_values"].points, questions["test_double_values"].message) == (0, "double is wrong")
    ledger = Ledger(database(course))
    assert {(one.student, one.grade_id, one.old, one.new) for one in ledger.changes()} == {
        (student, "test_answer", 1, 0.5) for student in ("ada", "bob", "zoe")}
    ledger.close()
    with Nbgrader(course).gradebook() as gradebook:
        assert not gradebook.find_submission(LESSON, "ada").needs_manual_grade

    # The set-up touches every question; and what somebody else has graded since is no base to build on.
    change_source(course, "import math", "from manyheads import check")
    grade(course)
    assert examined() == [(student, [*TESTS]) for student in ("ada", "bob", "zoe")]
    change_source(course, "# as strict as before", "# stricter")
    notebook = autograded(course, "ada") / f"{LESSON}.ipynb"
    notebook.chmod(0o644)
    notebook.write_text(notebook.read_text() + "\n")
    grade(course)
    assert examined() == [("ada", [*TESTS]), ("bob", ["test_answer"]), ("zoe", ["test_answer"])]


def test_a_due_date_that_moves_changes_the_penalty(course):
    (course.root / "nbgrader_config.py").open("a").write('\nc.LateSubmissionPlugin.penalty_method = "zero"\n')
    hand_in(course, "ada", timestamp_txt="2026-05-01 12:00:00 UTC")
    grade(course)

    def penalty():
        with Nbgrader(course).gradebook() as gradebook:
            return gradebook.find_submission(LESSON, "ada").late_submission_penalty

    with Nbgrader(course).gradebook() as gradebook:
        gradebook.update_or_create_assignment(LESSON, duedate="2026-04-01 12:00:00 UTC")
    assert penalty() == 0 and grade(course).graded == 1 and penalty() == 5
    with Nbgrader(course).gradebook() as gradebook:
        gradebook.grant_extension(LESSON, "ada", weeks=8)
    assert grade(course).graded == 1 and penalty() == 0
    assert ("ada", []) in examined()  # nothing of it had to be examined again


def test_one_worker_and_many_give_the_same(course, tmp_path, monkeypatch):
    for number in range(9):
        hand_in(course, f"student{number}", [RIGHT, WRONG][number % 2])
    hand_in(course, "cut").write_text("{")
    shutil.copytree(course.root, tmp_path / "twin")
    monkeypatch.setattr(Examiner, "seconds", 0.02)
    assert grade(course, workers=1).graded == grade(Course(tmp_path / "twin"), workers=5).graded == 9
    assert state(course) == state(Course(tmp_path / "twin"))


def test_the_gradebook_in_use_is_waited_for(course):
    hand_in(course, "ada")
    with closing(sqlite3.connect(course.root / "gradebook.db", check_same_thread=False)) as formgrader:
        formgrader.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(1, formgrader.rollback)
        timer.start()
        assert grade(course).graded == 1
        timer.join()


def test_only_one_run_at_a_time(course):
    hand_in(course, "ada")
    with engine.only_one(course):
        result = CliRunner().invoke(main, ["grade"])
    assert result.exit_code == 1
    assert result.output.startswith("Error: another `manyheads grade` is at work on this course (process")
    assert result.output.count("\n") == 1
    assert CliRunner().invoke(main, ["grade"]).exit_code == 0


def test_what_was_taken_out_of_the_gradebook_is_graded_again(course):
    with Nbgrader(course).gradebook() as gradebook:
        gradebook.remove_submission(LESSON, "zoe")
    assert grade(course).graded == 1 and points(course, "zoe")["test_answer"] == 1


def test_the_grader_and_its_settings_count():
    full, none = Settings(), Settings(level="none")
    assert engine.version(full) == engine.version(full) != engine.version(none)


def test_limits_are_those_of_the_course(course):
    (course.root / "nbgrader_config.py").open("a").write("\nc.IsolatedExecute.seconds_a_cell = 7\n")
    grade(course)
    assert (Examiner.settings.seconds_a_cell, Examiner.settings.level) == (7, "full")
    assert CliRunner().invoke(main, ["grade", "--no-sandbox"]).exit_code == 0
    assert (Examiner.settings.seconds_a_cell, Examiner.settings.level) == (7, "none")
    (course.root / "nbgrader_config.py").open("a").write("\nc.IsolatedExecute.limits = {'memory': 4096}\n")
    result = CliRunner().invoke(main, ["grade"])
    assert (result.exit_code, result.output) == (1, "Error: nbgrader_config.py cannot be used "
                                                    "(TypeError: there is no limit 'memory'): mend it\n")


def test_a_wrong_name_is_said_in_one_line(course):
    (course.root / "submitted" / "xi").mkdir()
    for arguments, said in ((["other"], "Error: there is no lesson other in source/: there are small\n"),
                            (["--student", "yan"], "Error: there is no folder submitted/yan\n"),
                            (["--restore", "x.db"], "Error: there is no copy x.db; the newest ones in ")):
        result = CliRunner().invoke(main, ["grade", *arguments])
        assert result.exit_code == 1 and result.output.startswith(said) and result.output.count("\n") == 1
    assert "nothing was handed in for small" in CliRunner().invoke(main, ["grade", "small", "--student", "xi"]).output
    (course.root / "gradebook.db").write_bytes(b"no database at all " * 100)
    result = CliRunner().invoke(main, ["grade"])
    assert result.output == ("Error: the gradebook cannot be used (file is not a database): "
                             "put a copy back with `manyheads grade --restore latest`\n")
    shutil.rmtree(course.root / "submitted")
    assert "nothing was handed in" in CliRunner().invoke(main, ["grade"]).output


def test_what_keeps_the_gradebook_is_said_with_what_to_do(course, monkeypatch):
    monkeypatch.setattr(record, "SECONDS_TO_WAIT", 0.1)
    with closing(sqlite3.connect(course.root / "gradebook.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        result = CliRunner().invoke(main, ["grade"])
    assert (result.exit_code, result.output) == (1, "Error: the gradebook cannot be used (database is locked): "
                                                    "end the other program that holds it\n")
    readonly = OperationalError("", {}, sqlite3.OperationalError("attempt to write a readonly database"))
    assert engine._why(readonly).endswith(": see that you may write the file and its folder")
    assert engine._why(PermissionError(13, "Permission denied", "autograded/x")) == "Permission denied: autograded/x"


def test_a_line_says_points_and_what_was_stopped():
    questions = {"a": Question("graded", points=2, of=3), "written": Question("by hand", of=2),
                 "b": Question("timed out", points=0, of=1)}
    assert engine._summary(Graded("graded", questions=questions)) == "2 of 4 points, 2 by hand, b timed out (0.0 s)"


def test_a_grader_that_does_not_start_ends_the_run(course, monkeypatch):
    for student in ("ada", "bob", "cyd"):
        hand_in(course, student)
    asked = []

    def not_started(examiner, job):
        asked.append(job)
        raise NotStarted("the warm helper process did not start")

    monkeypatch.setattr(Examiner, "grade", not_started)
    with pytest.raises(Stop, match="^stopped: the warm helper process did not start; 0 graded are kept"):
        grade(course, workers=1)
    assert len(asked) < 4 and Ledger(database(course)).entry("small", "ada") is None


def test_the_way_back(course):
    hand_in(course, "ada")
    before = tables(database(course))
    grade(course)
    after = tables(database(course))
    result = CliRunner().invoke(main, ["grade", "--restore", "latest"])
    assert result.exit_code == 0 and tables(database(course)) == before, result.output
    assert grade(course).graded == 1 and tables(database(course)) == after


@pytest.mark.slow
def test_one_real_examiner_and_many_give_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "version", lambda settings: VERSION)
    lesson, settings = "01_motivation", Settings(level=probe().level)
    one = build_into(tmp_path / "one", [lesson])
    for student in sample.STUDENTS:
        Nbgrader(one).hand_in(lesson, student.name, sample.hand_in(one, lesson, student.name))
    shutil.copytree(one.root, tmp_path / "many")
    many = Course(tmp_path / "many")
    assert grade(one, workers=1, settings=settings).graded == len(sample.STUDENTS)
    assert grade(many, workers=4, settings=settings).graded == len(sample.STUDENTS)
    assert tables(database(one)) == tables(database(many))
    asked = [Ledger(database(course)) for course in (one, many)]
    first, second = ([one.questions for one in ledger.entries()] for ledger in asked)
    assert first == second
    right = asked[0].entry(lesson, "all-right").questions
    assert all(question.points == question.of for question in right.values() if question.points is not None)
    assert {question.points for question in asked[0].entry(lesson, "blank").questions.values()} == {0}
    for ledger in asked:
        ledger.close()


# ---- a run in a process of its own, to be killed

def start(course, **environment):
    return subprocess.Popen([sys.executable, __file__, str(course.root)], cwd=course.root, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**os.environ, "EXAMINER_LOG": str(Examiner.log), **environment})


def class_of(course, count):
    for number in range(count):
        hand_in(course, f"student{number}", [RIGHT, WRONG][number % 2], timestamp_txt="2026-05-01 12:00:00 UTC")


@pytest.fixture
def undisturbed(course, tmp_path):
    """What a class of eight comes to when nothing happens to the run."""
    class_of(course, 8)
    shutil.copytree(course.root, tmp_path / "twin")
    grade(Course(tmp_path / "twin"))
    examined()
    return state(Course(tmp_path / "twin"))


@pytest.mark.slow
def test_killed_at_any_moment_the_next_run_goes_on(course, undisturbed):
    finished, kills = set(), 0
    while True:
        run = start(course, EXAMINER_SECONDS="0.3")
        before = set(finished)
        for line in run.stdout:
            if written := re.match(r"written (\w+)", line):
                finished.add(written[1])
                if kills < 3 and len(finished - before) >= 1 + kills % 2:
                    time.sleep(0.07 * kills)
                    run.kill()
        again = {call[0] for call in examined()} & before
        assert not again, f"{again} had been graded and were graded again"
        if run.wait() == 0:
            break
        assert run.returncode == -signal.SIGKILL, run.stderr.read()
        kills += 1
    assert kills == 3 and state(course) == undisturbed


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["save", "_place", "rename"])
def test_killed_between_two_steps_of_one_submission(course, undisturbed, moment):
    run = start(course, KILL_AT=moment)
    run.communicate()
    assert run.returncode == -signal.SIGKILL
    examined()
    run = start(course)
    out, error = run.communicate()
    assert run.returncode == 0, error
    calls = [call[0] for call in examined()]
    if moment != "save":
        assert len(calls) == 7  # one was in the gradebook, and is not examined again
    assert len(calls) == len(set(calls)) and state(course) == undisturbed


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_graded(course, undisturbed):
    run = start(course, EXAMINER_SECONDS="1", COMMAND="1")
    for line in run.stdout:
        if line.startswith("[1/8"):
            run.send_signal(signal.SIGINT)
    assert run.wait() == 130
    stopped = re.search(r"stopped; (\d) graded are kept; run again to go on", run.stderr.read())
    assert stopped and not list((course.root / "autograded").glob(".*"))
    examined()
    assert grade(course).graded == 8 - int(stopped[1]) == len(examined())
    assert state(course) == undisturbed


def _kill_at(moment):
    """Kill this process just before, or just after, it calls something of the engine's for the first time."""
    what, _, after = moment.partition(" ")
    owner = {"save": engine.Recorder, "rename": Path}.get(what, engine._Run)
    call = getattr(owner, what)

    def killed(*arguments, **named):
        if after:
            call(*arguments, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, what, killed)


class _Printing(engine.Watch):
    def written(self, lesson, student, status, what):
        print("written", student, flush=True)


if __name__ == "__main__":
    engine.Workshop, engine.version = Examiner, lambda settings: VERSION
    if "KILL_AT" in os.environ:
        _kill_at(os.environ["KILL_AT"])
    if "COMMAND" in os.environ:
        main(["grade", "--workers", "2"])
    engine.grade(Course(Path(sys.argv[1])), workers=2, watch=_Printing())
