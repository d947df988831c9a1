"""The gradebook as `manyheads grade` writes it: one transaction a submission, over nbgrader's tables and our own.

nbgrader's tables get what `nbgrader autograde` would write. Ours (their names begin with ``manyheads_``) lie beside
them in the same database and hold what nbgrader has no place for: the status of every hand-in, what each question
said, what a grade was computed from, and which points changed.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import nbformat
from nbformat import NotebookNode
from nbgrader import utils
from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    Notebook,
    SourceCell,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
    new_uuid,
)
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy import (
    URL,
    Column,
    Connection,
    DateTime,
    Engine,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    and_,
    bindparam,
    create_engine,
    delete,
    insert,
    inspect,
    make_url,
    select,
    update,
)
from sqlalchemy.exc import OperationalError
from traitlets.config import Config

from manyheads.course.lesson import Course
from manyheads.course.stock import nbgrader_config

if TYPE_CHECKING:
    from .isolation import Graded, Question

GRADED, UNREADABLE, MISSING, FAILED = "graded", "unreadable", "missing", "failed"
SECONDS_TO_WAIT = 30  # for another program that holds the gradebook, before it is tried again
TRIES = 3

_ours = MetaData()
_submissions = Table(
    "manyheads_submissions", _ours,
    Column("lesson", String(128), primary_key=True),
    Column("student", String(128), primary_key=True),
    Column("status", String(32), nullable=False),
    Column("reason", Text, nullable=False, default=""),
    Column("digest", String(64), nullable=False),  # of everything the outcome depends on
    # The rest tells of the last time it was graded, which may have been an earlier hand-in.
    Column("graded_at", DateTime),  # UTC
    Column("content", String(64), nullable=False, default=""),  # digest of what was handed in
    Column("grader", String(64), nullable=False, default=""),  # version of the grader
    Column("notebook", String(64), nullable=False, default=""),  # digest of the autograded notebook
    Column("place", String(64), nullable=False, default=""),  # where the autograded files waited for this transaction
    Column("seconds", Text, nullable=False, default="{}"),
    Column("sandbox", String(32), nullable=False, default=""),
    Column("repaired", Text, nullable=False, default="[]"),
    Column("notes", Text, nullable=False, default="[]"),
)  # fmt: skip
_questions = Table(
    "manyheads_questions", _ours,
    Column("lesson", String(128), primary_key=True),
    Column("student", String(128), primary_key=True),
    Column("grade_id", String(128), primary_key=True),
    Column("position", Integer, nullable=False),
    Column("status", String(32), nullable=False),
    Column("message", Text, nullable=False, default=""),
    Column("mistake", String(128)),
    Column("points", Float),
    Column("max_points", Float, nullable=False),
    Column("digest", String(64), nullable=False),  # of what this result depends on; of a written answer: its text
)  # fmt: skip
_changes = Table(
    "manyheads_changes", _ours,
    Column("id", Integer, primary_key=True),
    Column("at", DateTime, nullable=False),  # UTC
    Column("lesson", String(128), nullable=False),
    Column("student", String(128), nullable=False),
    Column("grade_id", String(128), nullable=False),
    Column("old", Float),
    Column("new", Float),
    Column("why", String(128), nullable=False),
)  # fmt: skip
_synced = Table(
    "manyheads_synced", _ours,
    Column("lesson", String(128), primary_key=True),
    Column("digest", String(64), nullable=False),  # of the source that the gradebook was brought up to
)  # fmt: skip

_grades, _comments = Grade.__table__, Comment.__table__
_handed_in, _notebooks = SubmittedAssignment.__table__, SubmittedNotebook.__table__

T = TypeVar("T")


class Busy(Exception):
    """Another program holds the gradebook and does not let go; in one line, with what to do."""


class Unknown(Exception):
    """The gradebook does not know a lesson; in one line, with what to do."""


@dataclass(frozen=True)
class Change:
    """Automatic points that are no longer what they were. None: somebody has to mark it by hand."""

    lesson: str
    student: str
    grade_id: str
    old: float | None
    new: float | None
    why: str
    at: datetime


@dataclass(frozen=True)
class Entry:
    """What became of one hand-in.

    Only a graded one has a grade of its own. If a later hand-in could not be graded, ``graded_at`` and ``questions``
    tell of the earlier one, whose marks stand.
    """

    lesson: str
    student: str
    status: str  # "graded" | "unreadable" | "missing" | "failed"
    reason: str
    digest: str
    graded_at: datetime | None  # with time zone; None: never graded
    seconds: dict[str, float]
    sandbox: str
    repaired: list[str]
    notes: list[str]
    questions: "dict[str, Question]"  # by grade id, in the order of the notebook
    content: str
    grader: str
    notebook: str
    place: str
    digests: dict[str, str]  # of the questions

    @property
    def stands(self) -> bool:
        """Whether the marks in the gradebook are those of an earlier hand-in."""
        return self.status != GRADED and self.graded_at is not None


@dataclass(frozen=True)
class HandIn:
    """One hand-in and what its grade depends on, as digests."""

    lesson: str
    student: str
    digest: str  # everything
    content: str = ""  # what was handed in
    grader: str = ""  # the version of the grader
    tests: dict[str, str] = field(default_factory=dict)  # test cell -> everything that its result depends on
    timestamp: datetime | None = None  # UTC, without time zone, as nbgrader keeps it
    place: str = ""  # the name under which the autograded files wait


def database(course: Course) -> str:
    """The address of a course's gradebook."""
    config = nbgrader_config(course)
    config.CourseDirectory.root = str(course.root)
    return CourseDirectory(config=config).db_url


def file_of(db_url: str | URL) -> Path | None:
    """The file of a gradebook, or None if a database server holds it."""
    url = make_url(db_url)
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


def _engine(db_url: str) -> Engine:
    """Waits for another program that holds the gradebook."""
    return create_engine(db_url, connect_args={"timeout": SECONDS_TO_WAIT} if file_of(db_url) else {})


class Ledger:
    """Our own tables, to read. A gradebook without them, or none at all, reads as empty.

    Takes an open gradebook of nbgrader's, or the address of one.
    """

    def __init__(self, gradebook: Gradebook | str):
        self._own = isinstance(gradebook, str)
        self._engine: Engine = _engine(gradebook) if self._own else gradebook.engine
        self._file = file_of(self._engine.url)

    def close(self) -> None:
        if self._own:
            self._engine.dispose()

    def entry(self, lesson: str, student: str) -> Entry | None:
        return next(iter(self._read(_submissions.c.lesson == lesson, _submissions.c.student == student)), None)

    def entries(self, lesson: str | None = None) -> list[Entry]:
        """All hand-ins, or those of one lesson, by lesson and student."""
        return self._read(*([_submissions.c.lesson == lesson] if lesson else []))

    def changes(self, lesson: str | None = None) -> list[Change]:
        """Points that were changed by grading again, oldest first."""
        if not self._there():
            return []
        wanted = select(_changes).order_by(_changes.c.id)
        if lesson:
            wanted = wanted.where(_changes.c.lesson == lesson)
        with self._engine.connect() as connection:
            rows = connection.execute(wanted).mappings().all()
        return [Change(**{**{name: row[name] for name in row if name != "id"}, "at": row["at"].replace(tzinfo=UTC)})
                for row in rows]

    def synced(self) -> dict[str, str]:
        """Lesson -> digest of the source that the gradebook was brought up to."""
        if not self._there():
            return {}
        with self._engine.connect() as connection:
            known = set(connection.execute(select(Assignment.__table__.c.name)).scalars())
            return {row.lesson: row.digest for row in connection.execute(select(_synced)) if row.lesson in known}

    def states(self) -> dict[tuple[str, str], tuple[str, str, str, bool]]:
        """(Lesson, student) -> status, digest, reason, and whether it was ever graded, of all hand-ins.

        Without those whose grade somebody has removed from nbgrader's tables since.
        """
        if not self._there():
            return {}
        columns = [_submissions.c[name] for name in ("lesson", "student", "status", "digest", "reason", "graded_at")]
        assignment = Assignment.__table__
        held = select(assignment.c.name, _handed_in.c.student_id).join(
            assignment, assignment.c.id == _handed_in.c.assignment_id)
        with self._engine.connect() as connection:
            in_gradebook = {(row.name, row.student_id) for row in connection.execute(held)}
            return {(row.lesson, row.student): (row.status, row.digest, row.reason, row.graded_at is not None)
                    for row in connection.execute(select(*columns))
                    if row.status != GRADED or (row.lesson, row.student) in in_gradebook}

    def places(self, names: Iterable[str]) -> dict[str, tuple[str, str]]:
        """The (lesson, student) whose grade was written with these names of waiting folders."""
        names = list(names)
        if not names or not self._there():
            return {}
        wanted = select(_submissions.c.place, _submissions.c.lesson, _submissions.c.student)
        with self._engine.connect() as connection:
            rows = connection.execute(wanted.where(_submissions.c.place.in_(names))).all()
        return {row.place: (row.lesson, row.student) for row in rows}

    def lateness(self) -> Callable[[str, str, datetime | None], float]:
        """How many seconds a hand-in is late: a function of lesson, student and timestamp."""
        assignment = Assignment.__table__
        extended = select(assignment.c.name, _handed_in.c.student_id, _handed_in.c.extension).join(
            assignment, assignment.c.id == _handed_in.c.assignment_id).where(_handed_in.c.extension.is_not(None))
        with self._engine.connect() as connection:
            due = dict(tuple(row) for row in connection.execute(select(assignment.c.name, assignment.c.duedate)))
            extension = {(row.name, row.student_id): row.extension for row in connection.execute(extended)}
        return lambda lesson, student, timestamp: seconds_late(
            timestamp, due.get(lesson), extension.get((lesson, student)))

    def _there(self) -> bool:
        if self._file is not None and not self._file.is_file():
            return False  # sqlite would make an empty file
        return inspect(self._engine).has_table(_synced.name)  # the last one that is made

    def _read(self, *which: Any) -> list[Entry]:
        from .isolation import Question

        if not self._there():
            return []
        rows = select(_submissions).where(*which).order_by(_submissions.c.lesson, _submissions.c.student)
        same = and_(_questions.c.lesson == _submissions.c.lesson, _questions.c.student == _submissions.c.student)
        said = select(_questions).join(_submissions, same).where(*which).order_by(_questions.c.position)
        questions: dict[tuple[str, str], dict[str, Question]] = {}
        digests: dict[tuple[str, str], dict[str, str]] = {}
        with self._engine.connect() as connection:
            submissions = connection.execute(rows).mappings().all()
            for row in connection.execute(said):
                whose = (row.lesson, row.student)
                questions.setdefault(whose, {})[row.grade_id] = Question(
                    row.status, row.message, row.mistake, row.points, row.max_points)
                digests.setdefault(whose, {})[row.grade_id] = row.digest
        entries = []
        for row in submissions:
            whose = (row["lesson"], row["student"])
            held = {**row, **{name: json.loads(row[name]) for name in ("seconds", "repaired", "notes")}}
            held["graded_at"] = row["graded_at"] and row["graded_at"].replace(tzinfo=UTC)
            entries.append(Entry(**held, questions=questions.get(whose, {}), digests=digests.get(whose, {})))
        return entries


@dataclass(frozen=True)
class _Lesson:
    """What the gradebook knows of a lesson: ids of its cells by grade id."""

    assignment: str
    notebook: str
    graded: dict[str, str]
    commented: dict[str, str]
    checksums: dict[str, str]  # of the cells as they were released: what nobody touched still has it


class Recorder:
    """Writes grades. One connection for a whole run; used by one thread. Close it at the end."""

    def __init__(self, db_url: str, config: Config | None = None):
        self._engine: Engine = _engine(db_url)
        self._sqlite = self._engine.dialect.name == "sqlite"
        self._lessons: dict[str, _Lesson] = {}
        late = AssignLatePenalties(config=config or Config())
        late.init_plugin()
        self._late = late.plugin_inst
        self._connection: Connection | None = None
        self._write(_ours.create_all)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._engine.dispose()

    def save(self, hand_in: HandIn, graded: "Graded", earlier: Path | None = None) -> list[Change]:
        """Write the grade of a submission; return which automatic points are no longer what they were.

        Marks, extra credit and comments given by hand stay. A mark given by hand asks to be looked at again
        (``needs_manual_grade``) only if what it was given for has changed: the text of a written answer, or the hand-in
        or the test of a question that is marked automatically. For a gradebook that `nbgrader autograde` filled,
        ``earlier`` is the autograded notebook that is replaced: it tells whether a written answer has changed.

        Raises Unknown if the gradebook does not know the lesson, Busy if it stays locked, ValueError for a test cell
        with more points than it can have.
        """
        notebook = nbformat.v4.reads_json(graded.notebook.decode())
        cells = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id")]
        answers = {_name(cell): _of_text(cell.source) for cell in cells if _is_answer(cell)}

        def work(connection: Connection) -> list[Change]:
            lesson = self._lesson(connection, hand_in.lesson)
            for cell in cells:
                if _name(cell) in lesson.checksums:
                    cell.metadata.nbgrader["checksum"] = lesson.checksums[_name(cell)]
            scores = {_name(cell): utils.determine_grade(cell)[0] for cell in cells if utils.is_grade(cell)}
            no_response = {_name(cell): not utils.is_task(cell) and _untouched(cell)
                           for cell in cells if utils.is_solution(cell) or utils.is_task(cell)}
            digests = {name: answers.get(name) or hand_in.tests.get(name, "") for name in scores}
            notebook_id, seconds_late = _enter(connection, lesson, hand_in)
            known = _known_digests(connection, hand_in)

            def changed(name: str) -> bool:
                """Whether what a mark by hand was given for is another one now."""
                if name in known:
                    return known[name] != digests[name]
                return name not in answers or answers[name] != _answers_in(earlier).get(name)

            before, points = _save_grades(connection, lesson, notebook_id, scores, changed)
            _save_comments(connection, lesson, notebook_id, no_response)
            penalty = self._penalty(hand_in.student, points, seconds_late)
            connection.execute(update(_notebooks).where(_notebooks.c.id == notebook_id)
                               .values(late_submission_penalty=penalty))
            return _save_ours(connection, hand_in, graded, scores, digests, before)

        return self._write(work)

    def note(self, hand_in: HandIn, status: str, reason: str) -> bool:
        """Write that a hand-in could not be graded; return whether the marks of an earlier one stand.

        Nothing is written into nbgrader's tables: what is not graded has no points. If an earlier hand-in was graded,
        its marks stand. A failure of the grader's own should be given with an empty digest, so that it is tried again.
        """
        def work(connection: Connection) -> bool:
            values = {"status": status, "reason": reason, "digest": hand_in.digest}
            _upsert(connection, _submissions, hand_in.lesson, hand_in.student, values)
            graded_at = select(_submissions.c.graded_at).where(_is(_submissions, hand_in.lesson, hand_in.student))
            return connection.execute(graded_at).scalar() is not None

        return self._write(work)

    def remember_synced(self, digests: dict[str, str]) -> None:
        """Note to which source the gradebook was brought up."""
        def work(connection: Connection) -> None:
            connection.execute(delete(_synced).where(_synced.c.lesson.in_(digests)))
            connection.execute(insert(_synced), [{"lesson": name, "digest": of} for name, of in digests.items()])

        if digests:
            self._write(work)

    def _write(self, work: Callable[[Connection], T]) -> T:
        """Do ``work`` in one transaction. Raises Busy."""
        for last in (*[False] * (TRIES - 1), True):
            if self._connection is None:
                self._connection = self._engine.connect()
            try:
                if self._sqlite:  # no reading what another program changes before we write
                    self._connection.exec_driver_sql("BEGIN IMMEDIATE")
                result = work(self._connection)
                self._connection.commit()
                return result
            except OperationalError as problem:
                self._connection.rollback()
                if "locked" not in str(problem.orig):
                    raise
                if last:
                    raise Busy("another program holds the gradebook (a Formgrader or a database browser with an open "
                               "transaction?): end it, then run the command again") from problem
                time.sleep(0.5)
            except BaseException:
                self._connection.rollback()
                raise
        raise AssertionError("unreachable")

    def _lesson(self, connection: Connection, lesson: str) -> _Lesson:
        if lesson not in self._lessons:
            assignment, notebook = Assignment.__table__, Notebook.__table__
            found = connection.execute(
                select(assignment.c.id, notebook.c.id)
                .join(notebook, notebook.c.assignment_id == assignment.c.id)
                .where(assignment.c.name == lesson, notebook.c.name == lesson)).first()
            if found is None:
                raise Unknown(f"the gradebook does not know {lesson}: run `manyheads gradebook sync {lesson}`")
            base = BaseCell.__table__
            cells = connection.execute(
                select(base.c.name, base.c.id, base.c.type).where(base.c.notebook_id == found[1])).all()
            released = SourceCell.__table__
            checksums = connection.execute(
                select(released.c.name, released.c.checksum).where(released.c.notebook_id == found[1])).all()
            self._lessons[lesson] = _Lesson(
                *found,
                graded={name: id_ for name, id_, kind in cells if kind in ("GradeCell", "TaskCell")},
                commented={name: id_ for name, id_, kind in cells if kind in ("SolutionCell", "TaskCell")},
                checksums=dict(tuple(row) for row in checksums))
        return self._lessons[lesson]

    def _penalty(self, student: str, points: float, seconds_late: float) -> float | None:
        if seconds_late <= 0:
            return None
        penalty = self._late.late_submission_penalty(student, points, seconds_late)
        return None if penalty is None else min(max(penalty, 0), points)


def _name(cell: NotebookNode) -> str:
    return cell.metadata.nbgrader.grade_id


def _is_answer(cell: NotebookNode) -> bool:
    """A cell that the student writes and somebody marks."""
    return utils.is_grade(cell) and utils.is_solution(cell)


def _of_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _untouched(cell: NotebookNode) -> bool:
    return cell.metadata.nbgrader.get("checksum") == utils.compute_checksum(cell)


def _answers_in(notebook: Path | None) -> dict[str, str]:
    """Digests of the written answers in an autograded notebook."""
    if notebook is None or not notebook.is_file():
        return {}
    held = nbformat.v4.reads_json(notebook.read_text(encoding="utf-8"))
    return {_name(cell): _of_text(cell.source) for cell in held.cells if _is_answer(cell)}


def _enter(connection: Connection, lesson: _Lesson, hand_in: HandIn) -> tuple[str, float]:
    """See that student and submission are there; return the submitted notebook's id and how late it is."""
    assignment, student = Assignment.__table__, Student.__table__
    if connection.execute(select(student.c.id).where(student.c.id == hand_in.student)).first() is None:
        connection.execute(insert(student).values(id=hand_in.student))
    whose = and_(_handed_in.c.assignment_id == assignment.c.id, _handed_in.c.student_id == hand_in.student)
    which = and_(_notebooks.c.assignment_id == _handed_in.c.id, _notebooks.c.notebook_id == lesson.notebook)
    row = connection.execute(
        select(assignment.c.duedate, _handed_in.c.id, _handed_in.c.timestamp, _handed_in.c.extension, _notebooks.c.id)
        .select_from(assignment.outerjoin(_handed_in, whose).outerjoin(_notebooks, which))
        .where(assignment.c.id == lesson.assignment)).one()
    due, submission, timestamp, extension, notebook = row
    if submission is None:
        submission = new_uuid()
        connection.execute(insert(_handed_in).values(id=submission, assignment_id=lesson.assignment,
                                                     student_id=hand_in.student, timestamp=hand_in.timestamp))
    elif hand_in.timestamp is not None:  # without a timestamp.txt nbgrader leaves the one that is there
        connection.execute(update(_handed_in).where(_handed_in.c.id == submission)
                           .values(timestamp=hand_in.timestamp))
    if notebook is None:
        notebook = new_uuid()
        connection.execute(insert(_notebooks).values(id=notebook, assignment_id=submission,
                                                     notebook_id=lesson.notebook))
    return notebook, seconds_late(hand_in.timestamp or timestamp, due, extension)


def seconds_late(timestamp: datetime | None, due: datetime | None, extension: Any) -> float:
    """How late a hand-in is, as nbgrader counts it."""
    if timestamp is None or due is None:
        return 0
    return max(0, (timestamp - (due + extension if extension else due)).total_seconds())


def _known_digests(connection: Connection, hand_in: HandIn) -> dict[str, str]:
    rows = connection.execute(select(_questions.c.grade_id, _questions.c.digest).where(
        _questions.c.lesson == hand_in.lesson, _questions.c.student == hand_in.student))
    return {row.grade_id: row.digest for row in rows}


def _save_grades(connection: Connection, lesson: _Lesson, notebook_id: str, scores: dict[str, float | None],
                 changed: Callable[[str], bool]) -> tuple[dict[str, float | None], float]:
    """Write the automatic scores; return those of before, and the points of the whole notebook."""
    # By cell and notebook, which nbgrader has an index for: the notebook alone would mean a look at the whole table.
    cells = _grades.c.cell_id.in_(lesson.graded.values())
    held = {row.cell_id: row for row in
            connection.execute(select(_grades).where(cells, _grades.c.notebook_id == notebook_id))}
    new, updated, before, points = [], [], {}, 0.0
    for name, cell_id in lesson.graded.items():
        row, auto = held.get(cell_id), scores.get(name)
        if row is None:
            needs = name not in scores or auto is None
            new.append({"cell_id": cell_id, "notebook_id": notebook_id, "auto_score": auto,
                        "needs_manual_grade": needs})
            points += auto or 0
            continue
        if name in scores:
            needs = auto is None
            if row.manual_score is not None:
                needs = row.needs_manual_grade or changed(name)
            before[name] = row.auto_score
            if (row.auto_score, row.needs_manual_grade) != (auto, needs):
                updated.append({"row": row.id, "auto": auto, "needs": needs})
        else:  # a cell that left source/ but was marked by hand
            auto = row.auto_score
        mark = row.manual_score if row.manual_score is not None else auto
        points += 0 if mark is None else mark + (row.extra_credit or 0)
    if new:
        connection.execute(insert(_grades), new)
    if updated:
        connection.execute(update(_grades).where(_grades.c.id == bindparam("row"))
                           .values(auto_score=bindparam("auto"), needs_manual_grade=bindparam("needs")), updated)
    return before, points


def _save_comments(connection: Connection, lesson: _Lesson, notebook_id: str, no_response: dict[str, bool]) -> None:
    cells = _comments.c.cell_id.in_(lesson.commented.values())
    held = {row.cell_id: row for row in
            connection.execute(select(_comments.c.id, _comments.c.cell_id, _comments.c.auto_comment)
                               .where(cells, _comments.c.notebook_id == notebook_id))}
    new, updated = [], []
    for name, cell_id in lesson.commented.items():
        auto = "No response." if no_response.get(name) else None
        if cell_id not in held:
            new.append({"cell_id": cell_id, "notebook_id": notebook_id, "auto_comment": auto})
        elif name in no_response and held[cell_id].auto_comment != auto:
            updated.append({"row": held[cell_id].id, "auto": auto})
    if new:
        connection.execute(insert(_comments), new)
    if updated:
        connection.execute(update(_comments).where(_comments.c.id == bindparam("row"))
                           .values(auto_comment=bindparam("auto")), updated)


def _save_ours(connection: Connection, hand_in: HandIn, graded: "Graded", scores: dict[str, float | None],
               digests: dict[str, str], before: dict[str, float | None]) -> list[Change]:
    now = datetime.now(UTC)
    whose = {"lesson": hand_in.lesson, "student": hand_in.student}
    earlier = connection.execute(select(_submissions.c.content).where(_is(_submissions, **whose))).scalar()
    rows = []
    for position, (name, points) in enumerate(scores.items()):
        said = graded.questions.get(name)
        rows.append({**whose, "grade_id": name, "position": position, "digest": digests[name], "points": points,
                     "status": said.status if said else GRADED, "message": said.message if said else "",
                     "mistake": said.mistake if said else None, "max_points": said.of if said else 0.0})
    connection.execute(delete(_questions).where(_is(_questions, **whose)))
    if rows:
        connection.execute(insert(_questions), rows)
    _upsert(connection, _submissions, **whose, values={
        "status": GRADED, "reason": "", "digest": hand_in.digest, "graded_at": now.replace(tzinfo=None),
        "content": hand_in.content, "grader": hand_in.grader, "place": hand_in.place,
        "notebook": hashlib.sha256(graded.notebook).hexdigest(), "seconds": json.dumps(graded.seconds),
        "sandbox": graded.sandbox, "repaired": json.dumps(graded.repaired), "notes": json.dumps(graded.notes),
    })
    why = "graded again" if earlier in (None, "", hand_in.content) else "another hand-in"
    changes = [Change(**whose, grade_id=name, old=before[name], new=points, why=why, at=now)
               for name, points in scores.items() if before.get(name) is not None and before[name] != points]
    if changes:
        connection.execute(insert(_changes), [{**vars(change), "at": now.replace(tzinfo=None)} for change in changes])
    return changes


def _is(table: Table, lesson: str, student: str) -> Any:
    return and_(table.c.lesson == lesson, table.c.student == student)


def _upsert(connection: Connection, table: Table, lesson: str, student: str, values: dict[str, Any]) -> None:
    done = connection.execute(update(table).where(_is(table, lesson, student)).values(**values))
    if done.rowcount == 0:
        connection.execute(insert(table).values(lesson=lesson, student=student, **values))
