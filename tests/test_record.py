"""What `manyheads grade` writes into the gradebook: in one transaction, what nbgrader would write and our own."""

import copy
import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.preprocessors import AssignLatePenalties, SaveAutoGrades
from small_class import LESSON, RIGHT, released, small_course
from traitlets.config import Config

from manyheads.grade import record
from manyheads.grade.intake import grade_id
from manyheads.grade.isolation import Graded, Question
from manyheads.grade.record import HandIn, Ledger, Recorder

STUDENT = "ada"
SCORED = {"test_double_values": 2, "test_double_kinds": 1, "test_answer": None}  # None: stops with an error


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return small_course(tmp_path_factory.mktemp("course"))


@pytest.fixture
def gradebook(course, tmp_path):
    """The address of a gradebook that knows the lesson and no student."""
    with closing(sqlite3.connect(course.course.root / "gradebook.db")) as old:
        with closing(sqlite3.connect(tmp_path / "gradebook.db")) as new:
            old.backup(new)
    return f"sqlite:///{tmp_path / 'gradebook.db'}"


def executed(course, scored=SCORED, **answers):
    """A hand-in as it looks when its test cells have run, as bytes."""
    nb = nbformat.read(course.course.notebook("source", LESSON), as_version=4)
    given = {grade_id(cell): cell for cell in released(course, **{**RIGHT, **answers}).cells if grade_id(cell)}
    for cell in nb.cells:
        name = grade_id(cell)
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = given[name].source
        if name:
            cell.metadata.nbgrader.checksum = given[name].metadata.nbgrader.checksum
        if name in scored and scored[name] is None:
            cell.outputs = [nbformat.v4.new_output("error", ename="NotRight", evalue="answer is wrong", traceback=[])]
        elif name in scored:
            cell.outputs = [nbformat.v4.new_output("execute_result", {"text/plain": str(scored[name])},
                                                   execution_count=1)]
    return nbformat.writes(nb).encode()


def graded(notebook, **questions):
    return Graded("graded", notebook=notebook, questions=questions, seconds={"all": 0.5}, sandbox="full")


def save(db_url, notebook, *, late=None, earlier=None, questions=(), **about):
    recorder = Recorder(db_url, late)
    try:
        hand_in = HandIn(LESSON, STUDENT, **{"digest": "d", **about})
        return recorder.save(hand_in, graded(notebook, **dict(questions)), earlier)
    finally:
        recorder.close()


def save_as_nbgrader(db_url, notebook, timestamp=None, late=None):
    """What `nbgrader autograde` does once the notebook has run."""
    with Gradebook(db_url, "manyheads") as gradebook:
        gradebook.update_or_create_student(STUDENT)
        when = {"timestamp": timestamp} if timestamp else {}
        gradebook.update_or_create_submission(LESSON, STUDENT, **when)
    resources = {"nbgrader": {"notebook": LESSON, "assignment": LESSON, "student": STUDENT, "db_url": db_url}}
    nb = nbformat.reads(notebook.decode(), as_version=4)
    for step in (SaveAutoGrades, AssignLatePenalties):
        step(config=late).preprocess(copy.deepcopy(nb), resources)


def tables(db_url):
    """All rows of nbgrader's tables about submissions, without the ids that are drawn at random."""
    queries = [
        "SELECT * FROM student",
        "SELECT a.name, s.student_id, s.timestamp, s.extension FROM submitted_assignment s "
        "JOIN assignment a ON a.id = s.assignment_id",
        "SELECT n.name, s.student_id, m.flagged, m.late_submission_penalty FROM submitted_notebook m "
        "JOIN notebook n ON n.id = m.notebook_id JOIN submitted_assignment s ON s.id = m.assignment_id",
        "SELECT c.name, c.type, s.student_id, g.auto_score, g.manual_score, g.extra_credit, g.needs_manual_grade "
        "FROM grade g JOIN base_cell c ON c.id = g.cell_id JOIN submitted_notebook m ON m.id = g.notebook_id "
        "JOIN submitted_assignment s ON s.id = m.assignment_id",
        "SELECT c.name, c.type, s.student_id, k.auto_comment, k.manual_comment "
        "FROM comment k JOIN base_cell c ON c.id = k.cell_id JOIN submitted_notebook m ON m.id = k.notebook_id "
        "JOIN submitted_assignment s ON s.id = m.assignment_id",
    ]
    with closing(sqlite3.connect(record.file_of(db_url))) as database:
        return [sorted(database.execute(query).fetchall(), key=repr) for query in queries]


def mark_by_hand(db_url):
    with Gradebook(db_url, "manyheads") as gradebook:
        written = gradebook.find_grade("written", LESSON, LESSON, STUDENT)
        written.manual_score, written.extra_credit, written.needs_manual_grade = 1.5, 0.25, False
        override = gradebook.find_grade("test_answer", LESSON, LESSON, STUDENT)
        override.manual_score, override.needs_manual_grade = 0.5, False
        gradebook.find_comment("double", LESSON, LESSON, STUDENT).manual_comment = "Neat."
        gradebook.db.commit()


def needs_a_look(db_url):
    with Gradebook(db_url, "manyheads") as gradebook:
        grades = gradebook.find_submission_notebook(LESSON, LESSON, STUDENT).grades
        return {grade.name for grade in grades if grade.needs_manual_grade}


LATE = Config({"LateSubmissionPlugin": {"penalty_method": "zero"}})


@pytest.mark.parametrize("twice", [False, True], ids=["first time", "again, after marks by hand"])
@pytest.mark.parametrize("written", ["My answer.", None], ids=["answered", "no response"])
@pytest.mark.parametrize("late", [None, LATE], ids=["no penalty", "late: all points lost"])
def test_the_gradebook_holds_what_nbgrader_would_write(course, gradebook, tmp_path, twice, written, late):
    stock = f"sqlite:///{tmp_path / 'stock.db'}"
    with Gradebook(gradebook, "manyheads") as book:
        book.update_or_create_assignment(LESSON, duedate="2026-01-01 12:00:00 UTC")
    (tmp_path / "stock.db").write_bytes((tmp_path / "gradebook.db").read_bytes())
    answers = {"written": written} if written else {"written": released(course).cells[-1].source}
    for again in range(1 + twice):
        notebook = executed(course, {**SCORED, "test_double_values": 2 - again}, **answers)
        save_as_nbgrader(stock, notebook, "2026-01-01 13:00:00 UTC", late)
        save(gradebook, notebook, late=late, timestamp=datetime(2026, 1, 1, 13), digest=str(again), content=str(again),
             tests={name: f"{name}{again}" for name in SCORED})
        if again:  # the one difference: a written answer that is still the same needs no second look
            with closing(sqlite3.connect(tmp_path / "stock.db")) as book:
                written_cell = "(SELECT id FROM base_cell WHERE name = 'written' AND type = 'GradeCell')"
                book.execute(f"UPDATE grade SET needs_manual_grade = 0 WHERE cell_id = {written_cell}")
                book.commit()
        assert tables(gradebook) == tables(stock)
        mark_by_hand(gradebook), mark_by_hand(stock)


def test_what_somebody_gave_by_hand_stays_and_asks_for_a_look_only_where_the_work_changed(course, gradebook, tmp_path):
    tests = {"test_double_values": "1", "test_double_kinds": "1", "test_answer": "1"}
    save(gradebook, executed(course), tests=tests)
    assert needs_a_look(gradebook) == {"written"}
    mark_by_hand(gradebook)

    save(gradebook, executed(course), tests=tests)
    assert needs_a_look(gradebook) == set()
    save(gradebook, executed(course), tests={**tests, "test_answer": "2"})
    assert needs_a_look(gradebook) == {"test_answer"}  # a mark by hand over another test's points
    save(gradebook, executed(course, written="Something else."), tests={**tests, "test_answer": "2"})
    assert needs_a_look(gradebook) == {"test_answer", "written"}
    with Gradebook(gradebook, "manyheads") as book:
        notebook = book.find_submission_notebook(LESSON, LESSON, STUDENT)
        assert notebook.score == 2 + 1 + 0.5 + 1.5 + 0.25
        assert book.find_comment("double", LESSON, LESSON, STUDENT).comment == "Neat."


def test_marks_given_after_nbgraders_own_autograde_need_no_second_look(course, gradebook, tmp_path):
    save_as_nbgrader(gradebook, executed(course))
    mark_by_hand(gradebook)
    earlier = tmp_path / "autograded.ipynb"
    earlier.write_bytes(executed(course))
    save(gradebook, executed(course), earlier=earlier)
    assert "written" not in needs_a_look(gradebook)
    save_as_nbgrader(gradebook, executed(course))
    assert "written" in needs_a_look(gradebook)  # nbgrader's own way


def test_the_ledger_tells_what_became_of_a_hand_in(course, gradebook):
    assert Ledger(gradebook).entries() == [] and Ledger(gradebook).changes() == []
    said = {"test_answer": Question("graded", "answer is wrong", "off_by_one", 0, 1),
            "written": Question("by hand", of=2)}
    assert save(gradebook, executed(course), questions=said, content="a", digest="1") == []
    ledger = Ledger(gradebook)
    (entry,) = ledger.entries(LESSON)
    assert entry == ledger.entry(LESSON, STUDENT) and ledger.entry(LESSON, "bob") is None
    assert (entry.status, entry.sandbox, entry.seconds) == ("graded", "full", {"all": 0.5})
    assert datetime.now(UTC) - entry.graded_at < timedelta(minutes=1)
    assert list(entry.questions) == [*SCORED, "written"]
    assert entry.questions["test_answer"] == said["test_answer"] and entry.questions["written"].points is None
    assert entry.questions["test_double_values"].points == 2 and not entry.stands

    # Graded again, with other points; then another hand-in.
    (change,) = save(gradebook, executed(course, {**SCORED, "test_double_kinds": 2}), content="a", digest="2")
    assert (change.grade_id, change.old, change.new, change.why) == ("test_double_kinds", 1, 2, "graded again")
    save(gradebook, executed(course), content="b", digest="3")
    assert [(change.old, change.new, change.why) for change in ledger.changes()] == [
        (1, 2, "graded again"), (2, 1, "another hand-in")]
    assert ledger.changes("other") == []


def test_a_hand_in_that_cannot_be_graded_has_a_reason_and_no_points(course, gradebook):
    recorder = Recorder(gradebook)
    recorder.note(HandIn(LESSON, STUDENT, "1"), "unreadable", "it is not JSON")
    assert tables(gradebook) == [[], [], [], [], []]
    entry = Ledger(gradebook).entry(LESSON, STUDENT)
    assert (entry.status, entry.reason, entry.graded_at, entry.stands) == ("unreadable", "it is not JSON", None, False)

    recorder.save(HandIn(LESSON, STUDENT, "2"), graded(executed(course)))
    before = tables(gradebook)
    recorder.note(HandIn(LESSON, STUDENT, "3"), "unreadable", "it is not JSON")
    entry = Ledger(gradebook).entry(LESSON, STUDENT)
    assert entry.status == "unreadable" and entry.stands and entry.questions["test_double_values"].points == 2
    assert tables(gradebook) == before
    recorder.close()


def test_a_grade_that_fails_half_way_leaves_nothing(course, gradebook, monkeypatch):
    save(gradebook, executed(course), digest="1")
    before, entry = tables(gradebook), Ledger(gradebook).entry(LESSON, STUDENT)
    monkeypatch.setattr(record, "_save_ours", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save(gradebook, executed(course, {**SCORED, "test_double_values": 0}), digest="2")
    assert tables(gradebook) == before and Ledger(gradebook).entry(LESSON, STUDENT) == entry


def test_a_lesson_that_the_gradebook_does_not_know(gradebook, course):
    recorder = Recorder(gradebook)
    with pytest.raises(record.Unknown, match="manyheads gradebook sync other"):
        recorder.save(HandIn("other", STUDENT, "1"), graded(executed(course)))
    recorder.close()


def test_a_gradebook_that_stays_locked_is_named(course, gradebook, monkeypatch):
    monkeypatch.setattr(record, "SECONDS_TO_WAIT", 0.1)
    recorder = Recorder(gradebook)
    with closing(sqlite3.connect(record.file_of(gradebook))) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(record.Busy, match="another program holds the gradebook"):
            recorder.save(HandIn(LESSON, STUDENT, "1"), graded(executed(course)))
        other.rollback()
    recorder.save(HandIn(LESSON, STUDENT, "1"), graded(executed(course)))  # and it can be used again
    recorder.close()


def test_nbgrader_does_not_mind_our_tables(course, gradebook):
    save(gradebook, executed(course))
    from nbgrader.dbutil import upgrade

    from manyheads.course.stock import find_tools

    find_tools()
    upgrade(gradebook)
    assert Ledger(gradebook).entry(LESSON, STUDENT).status == "graded"
    with Gradebook(gradebook, "manyheads") as book:
        assert json.dumps(book.find_submission(LESSON, STUDENT).to_dict())
        book.remove_submission(LESSON, STUDENT)
