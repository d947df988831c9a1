"""What the class did, as data: read from the gradebook, the ledger and the autograded notebooks.

Points come from nbgrader's gradebook, read in bulk. What became of a question, and by which mistake, comes from the
autograded notebooks (read one at a time) and from the ledger of ``manyheads grade``; a class that plain
``nbgrader autograde`` graded has no ledger, and its test cells are read instead.

A row has a total only if it is graded: whatever is missing, unreadable, stopped or still to be marked is no 0.
"""

import ast
import functools
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .record import Entry

MOST_CHARACTERS = 2_000  # of one text of a student's
MOST_SENTENCES = 50  # on what was repaired in one notebook
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

NO_NAME = "not right, by no known mistake"
_RAISED = re.compile(r"^(?:[^:\n]+: raised )?(\w*(?:Error|Exception|Iteration|Exit|Interrupt))\b")


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
        names.pop(NO_NAME, None)
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


def number(value: float | None) -> str:
    """Points as people write them; a dash where there are none."""
    return "–" if value is None else f"{round(value, 2):g}" if abs(value) < 1e5 else f"{value:.0f}"


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


# ---- what went wrong, by name ---------------------------------------------------------------------------------------


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
    return tuple(dict.fromkeys(found)) or (NO_NAME,)


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
