"""``manyheads report``: what the class did, as one page for a browser and as two CSV files.

Points come from nbgrader's gradebook, read in bulk. What became of a question, and by which mistake, comes from the
autograded notebooks (read one at a time) and from the ledger of ``manyheads grade``; a class that plain
``nbgrader autograde`` graded has no ledger, and its test cells are read instead.

A row has a total only if it is graded: whatever is missing, unreadable, stopped or still to be marked is no 0.
"""

import ast
import csv
import functools
import hashlib
import io
import json
import os
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from .record import Entry

PAGE, GRADES, CANVAS = "report.html", "grades.csv", "canvas.csv"
FEWEST = 5  # students, below which a correlation says nothing
MOST_CHARACTERS = 2_000  # of one text of a student's
MOST_SENTENCES = 50  # on what was repaired in one notebook
MOST_MISTAKES = 6  # shown of one question
MOST_NAMES = 25  # shown in one list of students
QUESTION = "question_for_the_instructor"

# of a student in a lesson
GRADED = "graded"
NOT_MARKED = "not marked yet"
TIMED_OUT = "timed out"
CRASHED = "crashed"
UNREADABLE = "unreadable"
NOT_GRADED = "not graded"
MISSING = "missing"

# the ledger's word for a hand-in that could not be graded -> ours
_PROBLEMS = {"unreadable": UNREADABLE, "missing": MISSING, "failed": NOT_GRADED}

# of a question of theirs; also TIMED_OUT, CRASHED and NOT_GRADED
FULL = "full"
PARTLY = "partly"
NO_POINTS = "no points"
NOT_ATTEMPTED = "not attempted"
OPEN = "open"

_LEVELS = ("full", "reduced", "none")  # of the sandbox
AGAIN = "mark to look at again"
_NO_NAME = "not right, by no known mistake"
_RAISED = re.compile(r"^(?:[^:\n]+: raised )?(\w*(?:Error|Exception|Iteration|Exit|Interrupt))\b")
# What no page and no CSV file can hold, or what would turn the text around it round.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


class NoReport(Exception):
    """Why there can be no report, in one line, with what to do."""


@dataclass(frozen=True)
class Student:
    id: str
    last_name: str = ""
    first_name: str = ""
    email: str = ""
    lms_id: str = ""

    @property
    def name(self) -> str:
        """As lists are sorted: last name first; the id if no name is known."""
        return ", ".join(part for part in (self.last_name, self.first_name) if part) or self.id


@dataclass(frozen=True)
class Cell:
    """A graded cell, as the gradebook knows it."""

    id: str
    notebook: str
    name: str
    points: float
    by_hand: bool


@dataclass(frozen=True)
class Question:
    """One exercise or one written answer, and the graded cells that give its points."""

    name: str
    cells: tuple[Cell, ...]

    @property
    def points(self) -> float:
        return sum(cell.points for cell in self.cells)

    @property
    def by_hand(self) -> bool:
        return any(cell.by_hand for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Mark:
    """What a student got for a question. ``got`` is None as long as nobody has marked it."""

    got: float | None
    outcome: str
    mistakes: tuple[str, ...] = ()


@dataclass(slots=True)
class Row:
    """One student in one lesson."""

    student: Student
    status: str
    why: str = ""
    late: float = 0.0
    timestamp: datetime | None = None
    raw: float | None = None
    penalty: float = 0.0
    marks: dict[str, Mark] = field(default_factory=dict)
    repaired: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)  # questions whose mark by hand is to be looked at again
    question: str = ""
    sandbox: str = ""

    @property
    def score(self) -> float | None:
        """The total as nbgrader's export has it, of a graded row; None of any other."""
        return None if self.raw is None or self.status != GRADED else max(0.0, self.raw - self.penalty)

    @property
    def so_far(self) -> float:
        """The points of everything that is marked."""
        return sum(mark.got for mark in self.marks.values() if mark.got is not None)

    @property
    def says(self) -> str:
        """The status in words, with its reason and with "late"."""
        stopped = self.why and self.status in (TIMED_OUT, CRASHED)
        status = self.why if stopped else f"{self.status}: {self.why}" if self.why else self.status
        return f"{status}, late" if self.late else status


@dataclass
class Lesson:
    name: str
    title: str
    points: float
    duedate: datetime | None
    questions: list[Question]
    rows: list[Row]


@dataclass
class Report:
    course: str
    lessons: list[Lesson]
    left_out: list[str]  # lessons that nobody has handed in
    written: datetime

    @property
    def students(self) -> list[Student]:
        return [row.student for row in self.lessons[0].rows] if self.lessons else []


# ---- reading --------------------------------------------------------------------------------------------------------


def read(course, lessons: Iterable[str] = ()) -> Report:
    """The report on some lessons of a course (default: all that anybody has handed in). Raises NoReport."""
    from nbgrader.api import Gradebook
    from nbgrader.coursedir import CourseDirectory
    from sqlalchemy.exc import SQLAlchemyError

    from manyheads.course.stock import find_tools, nbgrader_config

    from .nbgrading import Nbgrader
    from .record import Ledger, file_of

    find_tools()
    config = nbgrader_config(course)
    config.CourseDirectory.root = str(course.root)
    directory = CourseDirectory(config=config)
    file = file_of(directory.db_url)
    if file is not None and not file.is_file():
        raise NoReport("there is no gradebook.db in this course yet: grade the class first (manyheads grade)")
    try:
        with (closing(Ledger(directory.db_url)) as ledger,
              Gradebook(directory.db_url, directory.course_id) as gradebook):
            return _Reader(gradebook, directory, Nbgrader(course), ledger).report(list(lessons))
    except SQLAlchemyError as problem:
        first = str(problem).splitlines()[0]
        raise NoReport(f"the gradebook cannot be read ({first}). If it comes from an older nbgrader, "
                       "run: nbgrader db upgrade") from None


class _Reader:
    """Reads an open gradebook and the folders beside it."""

    def __init__(self, gradebook, directory, nbgrader, ledger):
        self.gradebook, self.directory, self.nbgrader, self.ledger = gradebook, directory, nbgrader, ledger
        self.excluded = [pattern.strip() for pattern in directory.student_id_exclude.split(",") if pattern.strip()]

    def report(self, lessons: list[str]) -> Report:
        from nbgrader.api import Assignment

        known = {name: (id_, due) for id_, name, due in
                 self._all(Assignment.id, Assignment.name, Assignment.duedate, by=Assignment.name)}
        for lesson in lessons:
            if lesson not in known:
                raise NoReport(f"the gradebook knows no lesson {lesson!r}; it has: {', '.join(known) or 'none'}")
        handed_in = self._handed_in(known)
        chosen = [name for name in known if name in lessons or not lessons and handed_in[name]]
        if not chosen:
            raise NoReport("nobody has handed anything in yet: nothing to report on")
        students = self._students(handed_in)
        return Report(self.directory.course_id,
                      [self._lesson(name, *known[name], students, handed_in[name]) for name in chosen],
                      [name for name in known if not handed_in[name]], datetime.now(UTC))

    def _all(self, *columns, where=None, by=None) -> list:
        from sqlalchemy import select

        query = select(*columns) if where is None else select(*columns).where(where)
        return list(self.gradebook.db.execute(query if by is None else query.order_by(by)))

    def _handed_in(self, lessons: Iterable[str]) -> dict[str, set[str]]:
        """Lesson -> ids of students with a submission in the gradebook, in the ledger or in the folder of hand-ins."""
        from nbgrader.api import Assignment, SubmittedAssignment

        found: dict[str, set[str]] = {name: set() for name in lessons}
        pairs = {tuple(pair) for pair in self._all(Assignment.name, SubmittedAssignment.student_id,
                                                   where=Assignment.id == SubmittedAssignment.assignment_id)}
        root = Path(self.directory.root)
        for lesson in lessons:
            pairs |= {(lesson, entry.student) for entry in self.ledger.entries(lesson)}
            step = self.directory.submitted_directory
            pattern = Path(self.directory.format_path(step, "*", lesson)).relative_to(root)
            place = pattern.parts.index("*")
            pairs |= {(lesson, path.relative_to(root).parts[place]) for path in root.glob(str(pattern))
                      if path.is_dir() and any(path.iterdir())}
        for lesson, student in pairs:
            if lesson in found and not self._is_excluded(student):
                found[lesson].add(student)
        return found

    def _is_excluded(self, student: str) -> bool:
        return any(fnmatchcase(student, pattern) for pattern in self.excluded)

    def _students(self, handed_in: dict[str, set[str]]) -> list[Student]:
        """Everybody, sorted as nbgrader sorts. Who handed in and is not in the gradebook must not get lost."""
        from nbgrader.api import Student as Known

        known = {row[0]: Student(*(part or "" for part in row)) for row in
                 self._all(Known.id, Known.last_name, Known.first_name, Known.email, Known.lms_user_id)
                 if not self._is_excluded(row[0])}
        others = set().union(*handed_in.values()) - set(known)
        everybody = [*known.values(), *(Student(id_) for id_ in others)]
        return sorted(everybody, key=lambda s: (s.last_name.casefold(), s.first_name.casefold(), s.id))

    def _lesson(self, name: str, id_: str, due: datetime | None, students: list[Student],
                handed_in: set[str]) -> Lesson:
        from nbgrader.api import Grade, SubmittedAssignment, SubmittedNotebook

        from .record import seconds_late

        cells = self._cells(id_)
        questions, title = self._questions(name, cells)
        of_lesson = SubmittedAssignment.assignment_id == id_
        submissions = {row.student_id: row for row in self._all(
            SubmittedAssignment.student_id, SubmittedAssignment.timestamp, SubmittedAssignment.extension,
            where=of_lesson)}
        in_lesson = of_lesson & (SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        penalties: Counter[str] = Counter()
        for student, penalty in self._all(SubmittedAssignment.student_id, SubmittedNotebook.late_submission_penalty,
                                          where=in_lesson):
            penalties[student] += penalty or 0.0
        grades: dict[str, dict[str, tuple]] = {}
        for student, cell, *grade in self._all(
                SubmittedAssignment.student_id, Grade.cell_id, Grade.auto_score, Grade.manual_score, Grade.score,
                Grade.needs_manual_grade, where=in_lesson & (Grade.notebook_id == SubmittedNotebook.id)):
            grades.setdefault(student, {})[cell] = Held(*grade)
        entries = {entry.student: entry for entry in self.ledger.entries(name)}
        rows = []
        for student in students:
            row = Row(student, MISSING)
            if student.id in handed_in:
                row = self._row(name, student, questions, cells, grades.get(student.id, {}), entries.get(student.id))
            if submission := submissions.get(student.id):
                row.timestamp = submission.timestamp
                row.penalty = penalties[student.id]
                row.late = seconds_late(row.timestamp, due, submission.extension)
            rows.append(row)
        return Lesson(name, title, sum(cell.points for cell in cells), due, questions, rows)

    def _cells(self, assignment: str) -> list[Cell]:
        from nbgrader.api import GradeCell, Notebook, SolutionCell, TaskCell

        of_lesson = Notebook.assignment_id == assignment
        written = set(self._all(Notebook.name, SolutionCell.name,
                                where=of_lesson & (SolutionCell.notebook_id == Notebook.id)))
        return [Cell(id_, notebook, name, points, kind is TaskCell or (notebook, name) in written)
                for kind in (GradeCell, TaskCell)
                for id_, notebook, name, points in self._all(
                    kind.id, Notebook.name, kind.name, kind.max_score,
                    where=of_lesson & (kind.notebook_id == Notebook.id), by=kind.name)]

    def _questions(self, lesson: str, cells: list[Cell]) -> tuple[list[Question], str]:
        """The questions in the order of the source notebook, and the lesson's title. What only the gradebook knows
        comes last, each cell by itself."""
        from . import table

        grouped: dict[str, list[Cell]] = {}
        left, title = {(cell.notebook, cell.name): cell for cell in cells}, ""
        source = self.nbgrader.course.notebook("source", lesson)
        if source.is_file():
            for asked in table.questions(self.nbgrader, lesson):
                mine = [left.pop((lesson, grade_id)) for grade_id in asked.grade_ids if (lesson, grade_id) in left]
                if mine:
                    grouped[asked.name] = mine
            title = json.loads(source.read_bytes())["metadata"].get("manyheads", {}).get("title", "")
        for cell in left.values():
            name = cell.name if cell.notebook == lesson else f"{cell.notebook}: {cell.name}"
            grouped.setdefault(name, []).append(cell)
        return [Question(name, tuple(found)) for name, found in grouped.items()], title

    def _row(self, lesson: str, student: Student, questions: list[Question], cells: list[Cell],
             grades: "dict[str, Held]", entry: "Entry | None") -> Row:
        """Of somebody who has handed in."""
        row = Row(student, NOT_GRADED)
        if not any(held.points is not None for held in grades.values()):
            row.why = "handed in, and the grader has given no points yet"
            if entry is not None and entry.reason:
                row.status, row.why = _PROBLEMS.get(entry.status, NOT_GRADED), entry.reason
            return row
        # Only where points are missing is there anything to be said.
        lost = {(cell.notebook, cell.name) for cell in cells if cell.id in grades and grades[cell.id].lost(cell)}
        verdicts: dict[tuple[str, str], Verdict] = {}
        told = entry
        folder = Path(self.directory.format_path(self.directory.autograded_directory, student.id, lesson))
        notebooks = {notebook: folder / f"{notebook}.ipynb" for notebook in sorted({cell.notebook for cell in cells})}
        for notebook, path in notebooks.items():
            try:
                said = look_into(path, {name for where, name in lost if where == notebook})
            except Unusable as problem:
                row.notes.append(f"{notebook}.ipynb in {self.directory.autograded_directory}/ cannot be read "
                                 f"({problem}): what became of its questions is not known.")
                continue
            if told is not None and notebook == lesson and said.digest != told.notebook:
                told = None  # nbgrader or Formgrader has graded it again since
            verdicts |= {(notebook, name): verdict for name, verdict in said.verdicts.items()}
            row.question, row.repaired, row.sandbox = said.question, said.repaired, said.sandbox
        if told is not None:
            for name, held in told.questions.items():
                verdicts.setdefault((lesson, name), Verdict(held.status, held.message, held.mistake))
            row.repaired, row.sandbox, row.notes = told.repaired, told.sandbox, [*row.notes, *told.notes]
        row.marks = {question.name: _mark(question, grades, verdicts) for question in questions}
        row.raw = sum(held.score for held in grades.values())
        row.again = [question.name for question in questions
                     if any(cell.id in grades and grades[cell.id].again for cell in question.cells)]
        row.status, row.why = _status(questions, row.marks)
        if entry is not None and entry.status in _PROBLEMS:
            row.status = _PROBLEMS[entry.status]
            row.why = f"{entry.reason} (the points are those of an earlier hand-in)"
        elif entry is None and not all(path.is_file() for path in notebooks.values()):
            # nbgrader takes the notebook away when grading fails, and leaves the points of the time before.
            row.status, row.why = NOT_GRADED, "no autograded notebook (the points are those of an earlier time)"
        return row


@dataclass(frozen=True, slots=True)
class Held:
    """What the gradebook holds of one graded cell of a submission."""

    auto: float | None
    manual: float | None
    score: float  # as nbgrader computes it, with extra credit
    needs_manual_grade: bool

    @property
    def points(self) -> float | None:
        """None as long as nobody has marked it."""
        return None if self.auto is None and self.manual is None else self.score

    @property
    def again(self) -> bool:
        """Whether a mark by hand was given for something that has changed since."""
        return self.needs_manual_grade and self.manual is not None

    def lost(self, cell: Cell) -> bool:
        """Whether a check took points. What a person has marked is not for a check to judge."""
        return self.manual is None and self.score < cell.points


_NOTHING = Held(None, None, 0.0, True)


def _mark(question: Question, grades: dict[str, Held], verdicts: "dict[tuple[str, str], Verdict]") -> Mark:
    held = [(cell, grades.get(cell.id, _NOTHING)) for cell in question.cells]
    unmarked = [cell for cell, grade in held if grade.points is None]
    if unmarked:
        return Mark(None, OPEN if all(cell.by_hand for cell in unmarked) else NOT_GRADED)
    got = sum(grade.score for _, grade in held)
    wrong = [(cell, verdicts.get((cell.notebook, cell.name))) for cell, grade in held if grade.lost(cell)]
    said = [verdict for _, verdict in wrong if verdict is not None]
    stopped = [verdict.status for verdict in said if verdict.status in (TIMED_OUT, CRASHED)]
    not_done = [cell.by_hand or verdict is not None and verdict.status == NOT_ATTEMPTED for cell, verdict in wrong]
    outcome = (stopped[0] if stopped else FULL if got >= question.points else PARTLY if got > 0 else
               NOT_ATTEMPTED if wrong and all(not_done) else NO_POINTS)
    names = dict.fromkeys(name for verdict in said for name in _names(verdict))
    if len(names) > 1:
        names.pop(_NO_NAME, None)
    return Mark(got, outcome, tuple(names))


def _status(questions: list[Question], marks: dict[str, Mark]) -> tuple[str, str]:
    """The status of a row that has points, and why it is not simply graded."""
    of = {outcome: [question for question in questions if marks[question.name].outcome == outcome]
          for outcome in (NOT_GRADED, TIMED_OUT, CRASHED, OPEN)}
    if of[NOT_GRADED]:
        return NOT_GRADED, f"no points yet for {_names_of(of[NOT_GRADED])}"
    if of[TIMED_OUT] or of[CRASHED]:
        first = TIMED_OUT if of[TIMED_OUT] else CRASHED
        return first, "; ".join(f"{what} in {_names_of(of[what])}" for what in (TIMED_OUT, CRASHED) if of[what])
    if of[OPEN]:
        points = sum(question.points for question in of[OPEN])
        return NOT_MARKED, f"{_names_of(of[OPEN])}, {number(points)} points by hand"
    return GRADED, ""


def _names_of(questions: list[Question]) -> str:
    return ", ".join(question.name for question in questions)


# ---- an autograded notebook -----------------------------------------------------------------------------------------


class Unusable(Exception):
    """Why an autograded notebook tells nothing."""


@dataclass(frozen=True)
class Verdict:
    """What a test cell says: its status, the sentence for the student, the name of the mistake if it has one."""

    status: str
    message: str = ""
    mistake: str | None = None


@dataclass
class Said:
    """What an autograded notebook tells beside the points."""

    digest: str
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    repaired: list[str] = field(default_factory=list)
    sandbox: str = ""
    question: str = ""


def look_into(path: Path, lost: set[str]) -> Said:
    """Read an autograded notebook; verdicts are wanted of the cells ``lost`` only. Raises Unusable."""
    try:
        content = path.read_bytes()
        held = json.loads(content)
        cells = [cell for cell in held["cells"] if isinstance(cell, dict)]
        ours = _dict(_dict(held.get("metadata")).get("manyheads"))
        said = Said(hashlib.sha256(content).hexdigest(),
                    repaired=[_text(line) for line in _list(ours.get("repaired"))[:MOST_SENTENCES]],
                    sandbox=_text(ours.get("sandbox")))
        unsaid = False
        for cell in cells:
            name = _dict(_dict(cell.get("metadata")).get("nbgrader")).get("grade_id")
            if isinstance(name, str) and name in lost:
                found = _dict(_dict(_dict(cell["metadata"]).get("manyheads")).get("verdict"))
                if isinstance(found.get("status"), str):
                    said.verdicts[name] = Verdict(found["status"], _text(found.get("message")),
                                                  _text(found.get("mistake")) or None)
                else:
                    unsaid = True
        if unsaid:
            _read_outputs(held, lost, said)
        said.question = next(filter(None, map(_asked, reversed(cells))), "")
        return said
    except OSError as problem:
        raise Unusable(problem.strerror or type(problem).__name__) from None
    except Exception as problem:  # whatever a file in that folder can hold
        raise Unusable(type(problem).__name__) from None


def _read_outputs(held: dict, lost: set[str], said: Said) -> None:
    """The verdicts of test cells that plain nbgrader has run."""
    import nbformat
    from nbformat.v4.rwbase import rejoin_lines

    from . import feedback

    nb = rejoin_lines(nbformat.from_dict(held))
    for cell in nb.cells:
        if feedback.is_test(cell) and (name := cell.metadata.nbgrader.grade_id) in lost - set(said.verdicts):
            found = feedback.verdict(cell, nb)
            said.verdicts[name] = Verdict(found.status, found.message[:MOST_CHARACTERS])


def _asked(cell: dict) -> str:
    """The question to the instructor in a cell of the student's: a plain string, read without running anything."""
    source = cell.get("source", "")
    source = "".join(map(str, source)) if isinstance(source, list) else str(source)
    if cell.get("cell_type") != "code" or QUESTION not in source or len(source) > 100_000:
        return ""
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    for statement in reversed(statements):
        if (isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
                and isinstance(statement.value.value, str)
                and any(isinstance(target, ast.Name) and target.id == QUESTION for target in statement.targets)):
            text = statement.value.value.strip()
            return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + " … (the rest is left out)"
    return ""


def _dict(value: object) -> dict:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return str(value or "")[:MOST_CHARACTERS]


# ---- mistakes -------------------------------------------------------------------------------------------------------


def _names(verdict: Verdict) -> list[str]:
    """What went wrong in a cell, by name."""
    if verdict.status in (NOT_ATTEMPTED, TIMED_OUT, CRASHED):
        return []
    return [verdict.mistake] if verdict.mistake else list(_named_in(verdict.message))


@functools.lru_cache(maxsize=4096)
def _named_in(message: str) -> tuple[str, ...]:
    """The mistakes that a message tells of: by the catalogue's sentence, by a probe's, or by the exception."""
    from manyheads.check.catalogue import mistakes

    found = [mistake.name for mistake in mistakes() if mistake.sentence in message] or list(_probes_in(message))[:1]
    if not found and (raised := _RAISED.match(message)):
        found = [f"raised {raised[1]}"]
    return tuple(dict.fromkeys(found)) or (_NO_NAME,)


def _probes_in(message: str) -> Iterator[str]:
    """The probes, the most telling first, whose sentence a message is: all its fixed pieces, one after the other."""
    from manyheads.check.probes import PREFIX, SAYS

    for name, sentence in sorted(SAYS.items(), key=lambda item: -len(item[1])):
        place = 0
        for piece in re.split(r"\{\w+\}", sentence):
            place = message.find(piece, place)
            if place < 0:
                break
            place += len(piece)
        else:
            yield PREFIX + name


@functools.lru_cache(maxsize=4096)
def sentence_of(question: str, mistake: str) -> str:
    """What a student reads of a mistake, with … for what differs from one to the next; empty if it has no sentence."""
    from manyheads.check.catalogue import mistakes
    from manyheads.check.probes import PREFIX, SAYS

    if mistake.startswith(PREFIX):
        return re.sub(r"\{\w+\}", "…", SAYS.get(mistake.removeprefix(PREFIX), ""))
    of_question = [*mistakes(question), *mistakes()]
    return next((entry.sentence for entry in of_question if entry.name == mistake), "")


@dataclass(frozen=True)
class Frequent:
    """A mistake in a question, and how many students made it."""

    name: str
    sentence: str
    count: int


def frequent(lesson: Lesson, question: Question) -> list[Frequent]:
    """The mistakes in a question, the most frequent first."""
    counted = Counter(name for row in lesson.rows if question.name in row.marks
                      for name in row.marks[question.name].mistakes)
    return [Frequent(name, sentence_of(question.name, name), count)
            for name, count in sorted(counted.items(), key=lambda item: (item[0] == _NO_NAME, -item[1], item[0]))]


# ---- numbers --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figures:
    """A question in numbers. ``share`` is the mean share of its points; None where nobody has any points yet."""

    question: Question
    share: float | None
    discrimination: float | None
    remark: str
    counts: dict[str, int]


def figures(lesson: Lesson) -> list[Figures]:
    """Difficulty, discrimination and outcomes of each question of a lesson."""
    rows = [row for row in lesson.rows if row.marks and row.status != NOT_GRADED]
    whole = {question.name for question in lesson.questions
             if all(row.marks[question.name].got is not None for row in rows)}
    made = []
    for question in lesson.questions:
        name = question.name
        marked = [row for row in rows if row.marks[name].got is not None]
        got = [row.marks[name].got for row in marked]
        rest = [sum(row.marks[other].got for other in whole - {name}) for row in marked]
        share = statistics.fmean(got) / question.points if got and question.points else None
        counts = Counter(row.marks[name].outcome for row in rows)
        made.append(Figures(question, share, *discrimination(got, rest if whole - {name} else []), dict(counts)))
    return made


def discrimination(got: list[float], rest: list[float]) -> tuple[float | None, str]:
    """Pearson's correlation of a question with the rest of the score, and a word for it."""
    if len(got) < FEWEST:
        return None, "too few"
    if len(rest) < len(got):
        return None, "no rest to compare with"
    if len(set(got)) == 1:
        return None, "all the same"
    try:
        value = statistics.correlation(got, rest)
    except statistics.StatisticsError:
        return None, "the rest is all the same"
    word = "against the rest: look at it" if value < 0 else "weak" if value < 0.2 else "fair" if value < 0.4 else "good"
    return value, word


@dataclass(frozen=True)
class Histogram:
    """How many of the numbers lie in each range; the last range includes its end and what lies above it."""

    name: str
    edges: list[float]
    counts: list[int]
    values: list[float]
    most: float

    @property
    def ranges(self) -> list[str]:
        last = len(self.counts) - 1
        return [f"{number(low)} to {number(high)}" if place == last else f"{number(low)} to under {number(high)}"
                for place, (low, high) in enumerate(zip(self.edges, self.edges[1:], strict=False))]

    @property
    def summary(self) -> str:
        """The text beside the picture."""
        if not self.values:
            return "There is none yet."
        return (f"{_plural(len(self.values), 'student')}, out of {number(self.most)} points: mean "
                f"{statistics.fmean(self.values):.1f}, median {number(statistics.median(self.values))}, from "
                f"{number(min(self.values))} to {number(max(self.values))}.")


def histogram(name: str, values: list[float], most: float) -> Histogram:
    """Ranges of a round width, a dozen or so up to ``most``."""
    width = next((width for width in (1, 2, 5, 10, 20, 50, 100, 200, 500) if most <= 13 * width), most / 10)
    edges = [0.0]
    while edges[-1] < most or len(edges) < 2:
        edges.append(min(edges[-1] + width, most) if most else 1.0)
    counts = [0] * (len(edges) - 1)
    for value in values:
        counts[min(int(max(value, 0) // width), len(counts) - 1)] += 1
    return Histogram(name, edges, counts, values, most)


def checked(lesson: Lesson, row: Row) -> float:
    """The points of a row that need no hand."""
    return sum(row.marks[question.name].got for question in lesson.questions if not question.by_hand)


def histograms(lesson: Lesson) -> list[Histogram]:
    """Of the totals; and, while answers wait to be marked by hand, of the points that need no hand."""
    made = []
    if any(row.status == NOT_MARKED for row in lesson.rows):
        most = sum(question.points for question in lesson.questions if not question.by_hand)
        got = [checked(lesson, row) for row in lesson.rows if row.status in (GRADED, NOT_MARKED)]
        made.append(histogram("Points checked automatically", got, most))
    totals = [row.score for row in lesson.rows if row.score is not None]
    if totals or not made:
        made.append(histogram("Totals", totals, lesson.points))
    return made


def class_histograms(report: Report, totals: dict[str, float]) -> list[Histogram]:
    """The same over all lessons, of who has such points in each."""
    made = []
    rows = [[lesson.rows[place] for lesson in report.lessons] for place in range(len(report.students))]
    if any(row.status == NOT_MARKED for of_student in rows for row in of_student):
        got = [sum(checked(*pair) for pair in zip(report.lessons, of_student, strict=True)) for of_student in rows
               if all(row.status in (GRADED, NOT_MARKED) for row in of_student)]
        most = sum(question.points for lesson in report.lessons for question in lesson.questions
                   if not question.by_hand)
        made.append(histogram("Points checked automatically in all lessons", got, most))
    if totals or not made:
        made.append(histogram("Totals of all lessons", list(totals.values()),
                              sum(lesson.points for lesson in report.lessons)))
    return made


def overall(report: Report) -> dict[str, float]:
    """Student id -> sum of all totals, of those who are graded in every lesson of the report."""
    scores = {student.id: [lesson.rows[place].score for lesson in report.lessons]
              for place, student in enumerate(report.students)}
    return {student: sum(got) for student, got in scores.items() if None not in got}


# ---- the page -------------------------------------------------------------------------------------------------------


def write_page(report: Report, path: Path) -> None:
    """Write the page: one file that needs nothing else, and holds students' words as text only."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True,
                              lstrip_blocks=True, undefined=StrictUndefined, finalize=_clean)
    environment.filters.update(number=number, names=_shortened, plural=_plural, late=late_words)
    totals = overall(report)
    most = sum(lesson.points for lesson in report.lessons)
    stream = environment.get_template("report.html.j2").stream(
        report=report, totals=totals, most=most, by_lesson=[_of_lesson(lesson) for lesson in report.lessons],
        class_histograms=class_histograms(report, totals),
        todo=to_do(report), sandboxes=_sandboxes(report), fewest=FEWEST, most_mistakes=MOST_MISTAKES)
    stream.enable_buffering(200)
    _write(path, lambda file: file.writelines(stream))


def _of_lesson(lesson: Lesson) -> dict:
    """What the page shows of a lesson beside its rows."""
    return {
        "lesson": lesson,
        "statuses": Counter(row.status for row in lesson.rows),
        "histograms": histograms(lesson),
        "figures": figures(lesson),
        "mistakes": [(question, found) for question in lesson.questions if (found := frequent(lesson, question))],
        "repaired": _by_sentence(lesson, lambda row: row.repaired),
        "notes": _by_sentence(lesson, lambda row: row.notes),
        "asked": [(place, row) for place, row in enumerate(lesson.rows) if row.question],
    }


def to_do(report: Report) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """What waits for a person: (what, what to do, [(anchor, label)])."""
    look = "Look at the question, then set its points in Formgrader (0 is fine): the row counts as graded then."
    remedies = {
        UNREADABLE: "Ask for the file again, then run manyheads grade.",
        NOT_GRADED: "Run manyheads grade; its messages say what is in the way.",
        TIMED_OUT: look,
        CRASHED: look,
        NOT_MARKED: "Mark the answers by hand in Formgrader.",
        AGAIN: "A mark was given by hand for something that has changed since: see whether it still fits.",
        MISSING: "Nothing was handed in. That is no 0: decide what it is.",
    }
    found: dict[str, list[tuple[str, str]]] = {status: [] for status in remedies}
    for place, lesson in enumerate(report.lessons):
        for number_, row in enumerate(lesson.rows):
            for what in (row.status, *([AGAIN] if row.again else [])):
                if what in found:
                    found[what].append((f"r{place}-{number_}", f"{row.student.name}, {lesson.name}"))
    return [(status, remedies[status], rows) for status, rows in found.items() if rows]


def _by_sentence(lesson: Lesson, of: Callable[[Row], list[str]]) -> list[tuple[str, list[str]]]:
    """The same sentence said of many students stands once, with their names."""
    found: dict[str, list[str]] = {}
    for row in lesson.rows:
        for sentence in dict.fromkeys(of(row)):
            found.setdefault(sentence, []).append(row.student.name)
    return sorted(found.items(), key=lambda item: -len(item[1]))


def _sandboxes(report: Report) -> list[tuple[str, int]]:
    return Counter(row.sandbox if row.sandbox in _LEVELS else "not recorded" for lesson in report.lessons for row in lesson.rows
                   if row.status not in (MISSING, UNREADABLE, NOT_GRADED)).most_common()


def number(value: float | None) -> str:
    """Points as people write them; a dash where there are none."""
    return "–" if value is None else f"{round(value, 2):g}" if abs(value) < 1e5 else f"{value:.0f}"


def _plural(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"


def _shortened(names: list[str]) -> str:
    more = len(names) - MOST_NAMES
    return "; ".join(names[:MOST_NAMES]) + (f"; and {more} more" if more > 0 else "")


def late_words(seconds: float) -> str:
    """How late, in the two largest units."""
    days, hours, minutes = int(seconds // 86400), int(seconds % 86400 // 3600), int(seconds % 3600 // 60)
    parts = [f"{count} {unit}" for count, unit in ((days, "d"), (hours, "h"), (minutes, "min")) if count]
    return " ".join(parts[:2]) or "under a minute"


def _clean(value: object) -> object:
    """Text without what no page can hold; anything else as it is."""
    return _UNPRINTABLE.sub("\ufffd", value) if type(value) is str else value


# ---- CSV ------------------------------------------------------------------------------------------------------------

NBGRADER_COLUMNS = ["assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email", "raw_score",
                    "late_submission_penalty", "score", "max_score"]


def write_grades(report: Report, path: Path) -> None:
    """The columns of ``nbgrader export``, then the status and one column a question; no total where none is due."""
    asked = [(lesson, question) for lesson in report.lessons for question in lesson.questions]
    header = [*NBGRADER_COLUMNS, "status", "seconds_late", *(f"{lesson.name}/{asked.name}" for lesson, asked in asked)]

    def rows() -> Iterator[list]:
        yield header
        for lesson in report.lessons:
            for row in lesson.rows:
                student, graded = row.student, row.score is not None
                yield [lesson.name, lesson.duedate, row.timestamp, student.id, student.last_name, student.first_name,
                       student.email, row.raw if graded else None, row.penalty if graded else None, row.score,
                       lesson.points, row.says, row.late,
                       *(row.marks[question.name].got if of is lesson and question.name in row.marks else None
                         for of, question in asked)]

    _write_csv(path, rows())


def write_canvas(report: Report, path: Path) -> None:
    """A file that Canvas imports into its gradebook: one row a student, one column a lesson.

    Canvas finds a student by ID (nbgrader's lms_user_id), else by SIS Login ID (nbgrader's student id), else by name.
    An empty cell is no grade there.
    """
    def rows() -> Iterator[list]:
        yield ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *(lesson.name for lesson in report.lessons)]
        yield ["Points Possible", "", "", "", "", *(lesson.points for lesson in report.lessons)]
        for place, student in enumerate(report.students):
            # Canvas takes any row whose name holds these words for the row of maximum points.
            name = student.name.replace("Points Possible", "Points possible")
            yield [name, student.lms_id, "", student.id, "", *(lesson.rows[place].score for lesson in report.lessons)]

    _write_csv(path, rows())


def _write_csv(path: Path, rows: Iterable[list]) -> None:
    made = io.StringIO(newline="")
    csv.writer(made).writerows([_csv_cell(value) for value in row] for row in rows)
    _write(path, lambda file: file.write(made.getvalue()))


def _csv_cell(value: object) -> str:
    """A spreadsheet runs text that begins like a formula: an apostrophe before it makes it text again."""
    if isinstance(value, str):
        text = str(_clean(value))
        return f"'{text}" if text.lstrip()[:1] in ("=", "+", "-", "@") or text[:1] in ("\t", "\r") else text
    if isinstance(value, float):
        return f"{value:.6f}".rstrip("0").rstrip(".")
    return "" if value is None else str(value)


def _write(path: Path, fill: Callable) -> None:
    """Write a file so that there is always the old one or the whole new one."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            fill(file)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


# ---- the command ----------------------------------------------------------------------------------------------------


def write(report: Report, folder: Path) -> list[Path]:
    """Write the page and the CSV files into a folder; return where they are."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for name, writer in ((PAGE, write_page), (GRADES, write_grades), (CANVAS, write_canvas)):
        writer(report, folder / name)
        made.append(folder / name)
    return made


@click.command()
@click.argument("lessons", nargs=-1, metavar="[LESSON]...")
@click.option("--to", "folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False),
              help="Write into this folder instead of report/ in the course folder.")
def report(lessons: tuple[str, ...], folder: Path | None) -> None:
    """Who struggles where: a page for your browser, and CSV files.

    \b
    report.html  the class, each lesson and each question: status, points, difficulty,
                 frequent mistakes by name, questions to you. One file, no network.
    grades.csv   the columns of nbgrader export, with status and points a question
    canvas.csv   for a grade import in Canvas

    Only graded work has a total: what is missing, unreadable, stopped or not marked yet is no 0.
    The files name students: keep them private.

    \b
    Example:
      manyheads report
      manyheads report 02_head_split --to ~/reports
    """
    from manyheads.course.lesson import Course

    try:
        course = Course.find()
        made = read(course, lessons)
    except (FileNotFoundError, NoReport) as problem:
        raise click.ClickException(str(problem)) from None
    paths = write(made, folder or course.root / "report")
    statuses = Counter(row.status for lesson in made.lessons for row in lesson.rows)
    click.echo(f"{_plural(len(made.students), 'student')}, {_plural(len(made.lessons), 'lesson')}: "
               + ", ".join(f"{count} {status}" for status, count in statuses.most_common()))
    for path in paths:
        click.echo(f"  {path}")
