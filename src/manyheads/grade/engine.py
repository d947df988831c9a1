"""`manyheads grade`: a class graded by many examiners at once, and written down by one.

Each submission goes three steps: its graded files are written into a waiting folder inside autograded/, one
transaction writes the grade and names that folder, and the folder is moved to its place. Killed at any moment, a run
leaves the old state or the new one; what was written down but not yet moved is moved by the next run.
"""

import contextlib
import fcntl
import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.converters import Autograde
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import is_grade, is_solution, parse_utc
from sqlalchemy.exc import DatabaseError
from traitlets.config import Config

from manyheads.course.backups import FOLDER, back_up
from manyheads.course.gradebook import sync
from manyheads.course.lesson import Course, role_of
from manyheads.course.stock import nbgrader_config

from . import intake
from .execute import IsolatedExecute
from .hand_in import Found, Missing, find_notebook, other_files
from .isolation import Broken, Graded, Job, NotStarted, Settings, Workshop
from .record import (
    FAILED,
    GRADED,
    MISSING,
    UNREADABLE,
    Busy,
    Change,
    Entry,
    HandIn,
    Ledger,
    Recorder,
    database,
    file_of,
)

LOCK = "gradebook.db.grading"  # ignored by git with the gradebook itself
TIMESTAMP = "timestamp.txt"
_LONGEST_TIMESTAMP = 200  # bytes
_WAITING = ".manyheads-"  # hidden, so that no command of nbgrader's takes it for a student
_OLD = "-old"
_STANDS = "; the marks of the earlier hand-in stand"
_FINAL = ("graded", "not attempted")  # a question that was stopped is asked again
_PACKAGE = Path(__file__).parents[1]
# What student code and tests compute with; another version may give another grade.
_COMPUTES_WITH = ("torch", "numpy", "ipython", "matplotlib", "nbgrader", "nbformat")


class Stop(Exception):
    """The run cannot go on, in one line with what to do. What was graded before is kept."""


@dataclass(frozen=True)
class Lesson:
    """What a lesson brings to every grade: its source notebook and the files beside it."""

    name: str
    source: bytes
    notebook: NotebookNode
    files: dict[str, bytes]
    tests: dict[str, str]  # test cell -> digest of its source and of the set-up
    digest: str

    @classmethod
    def read(cls, course: Course, name: str, students_own: Iterable[str] = ()) -> "Lesson":
        """`students_own`: files beside the source notebook that do not replace a student's file of the same name."""
        source = course.notebook("source", name).read_bytes()
        files = {path: data for path, data in other_files(course.folder("source", name)).items()
                 if path not in students_own}
        notebook = nbformat.v4.reads_json(source.decode())
        cells = notebook.cells
        setup = [cell.source for cell in cells if role_of(cell) == "setup"]
        tests = {cell.metadata.nbgrader.grade_id: _digest(setup, cell.source, cell.metadata.nbgrader.points, files)
                 for cell in cells if cell.cell_type == "code" and is_grade(cell) and not is_solution(cell)}
        return cls(name, source, notebook, files, tests, _digest(source, files))


@dataclass(frozen=True)
class Folder:
    """What lies in a hand-in folder."""

    found: Found
    stamp: bytes | None  # timestamp.txt as it is
    timestamp: datetime | None  # UTC, without time zone

    @classmethod
    def read(cls, path: Path, lesson: "Lesson") -> "Folder":
        """Raises Missing and intake.Unreadable."""
        found = find_notebook(path, lesson.name, lesson.notebook)
        file = path / TIMESTAMP
        if file.is_symlink() or not file.is_file() or file.stat().st_size > _LONGEST_TIMESTAMP:
            return cls(found, None, None)
        stamp = file.read_bytes()
        try:
            return cls(found, stamp, parse_utc(stamp.decode().strip()) if stamp.strip() else None)
        except (ValueError, OverflowError):
            found.notes.append(f"{TIMESTAMP} holds no date: nobody knows whether this was handed in late.")
            return cls(found, stamp, None)


@dataclass(frozen=True)
class Trouble:
    """A hand-in without a grade of its own."""

    lesson: str
    student: str
    status: str
    why: str


@dataclass
class Outcome:
    """What a run did."""

    graded: int = 0
    up_to_date: int = 0
    seconds: float = 0.0
    writing: float = 0.0  # seconds of the single writer
    stopped: bool = False
    said: list[str] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)


class Watch:
    """Is told what happens. `begin` and `end` come from the workers' threads."""

    def say(self, line: str) -> None:
        """Something to know."""

    def plan(self, to_do: int, up_to_date: int) -> None:
        """Before the first submission."""

    def begin(self, lesson: str, student: str) -> None:
        """An examiner has got this submission."""

    def end(self, lesson: str, student: str) -> None:
        """The examiner is done with it."""

    def written(self, lesson: str, student: str, status: str, what: str) -> None:
        """It is in the gradebook."""


def grade(course: Course, lessons: Iterable[str] = (), students: Iterable[str] = (), *, workers: int = 1,
          force: bool = False, settings: Settings | None = None, watch: Watch | None = None,
          workshop: Callable[[Settings], Workshop] | None = None) -> Outcome:
    """Grade what was handed in, by default everything that is not graded yet or graded from something else.

    `lessons` and `students` narrow it down; `settings` are by default those of the course. Ctrl-C ends the run after
    the submissions that are done.
    Raises Stop if another run is at work, the gradebook stays locked or files cannot be written; Unsafe if this machine
    cannot grade as `settings` ask; Refused if a lesson cannot be read.
    """
    started = time.monotonic()
    outcome, settings = Outcome(), settings or settings_of(course)
    with only_one(course), (workshop or Workshop)(settings) as examiners:
        run = _Run(course, lessons, students, workers, force, settings, watch or Watch(), outcome, examiners)
        try:
            run.all()
        except (Busy, DatabaseError) as problem:
            raise Stop(_why(problem)) from problem
        finally:
            run.close()
    outcome.seconds = time.monotonic() - started
    return outcome


@contextlib.contextmanager
def only_one(course: Course) -> Iterator[None]:
    """Hold the course: one run at a time. The lock goes with the process, however that ends. Raises Stop."""
    with open(course.root / LOCK, "a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read().strip() or "an unknown process"
            said = f"another `manyheads grade` is at work on this course ({holder}): wait until it has ended"
            raise Stop(said) from None
        lock.truncate(0)
        lock.write(f"process {os.getpid()}, since {datetime.now():%Y-%m-%d %H:%M}")
        lock.flush()
        yield
        lock.truncate(0)


def settings_of(course: Course, level: str | None = None) -> Settings:
    """How safely and how long a submission may run: as nbgrader_config.py says for nbgrader's own commands.

    Raises Stop if that file cannot be used.
    """
    try:
        settings = IsolatedExecute(config=nbgrader_config(course)).settings()
    except OSError:
        raise
    except Exception as problem:  # the file is Python: anything
        said = str(problem).replace("Limits.__init__() got an unexpected keyword argument", "there is no limit")
        raise Stop(f"nbgrader_config.py cannot be used ({type(problem).__name__}: {said}): mend it") from problem
    return replace(settings, level=level) if level else settings


def version(settings: Settings) -> str:
    """A digest of everything but lesson and hand-in that a grade depends on."""
    files = sorted(path for room in ("grade", "check", "learn") for path in (_PACKAGE / room).rglob("*.py"))
    files += sorted((_PACKAGE / "check").rglob("*.toml"))
    return _digest({str(path.relative_to(_PACKAGE)): path.read_bytes() for path in files},
                   [f"{name} {importlib.metadata.version(name)}" for name in _COMPUTES_WITH],
                   platform.python_version(), settings.to_dict())


def _digest(*parts: object) -> str:
    """A digest of data: bytes, text, numbers, lists and dictionaries of them."""
    held = hashlib.sha256()
    for part in parts:
        if isinstance(part, dict):
            part = [item for name in sorted(part) for item in (name, part[name])]
        if isinstance(part, list | tuple):
            part = "|".join(_digest(item) for item in part)
        data = part if isinstance(part, bytes) else repr(part).encode("utf-8", "surrogateescape")
        held.update(b"%d:" % len(data) + data)
    return held.hexdigest()


@dataclass(frozen=True)
class _Done:
    """A submission as it comes from a worker: graded and waiting in a folder, or not."""

    hand_in: HandIn
    graded: Graded
    waiting: Path | None = None


class _Run:
    def __init__(self, course: Course, lessons: Iterable[str], students: Iterable[str], workers: int, force: bool,
                 settings: Settings, watch: Watch, outcome: Outcome, examiners: Workshop):
        self.course, self.workers, self.force = course, workers, force
        self.watch, self.outcome, self.examiners = watch, outcome, examiners
        self.config: Config = nbgrader_config(course)
        self.config.CourseDirectory.root = str(course.root)
        self.directory = CourseDirectory(config=self.config)
        self.converter = Autograde(coursedir=self.directory, config=self.config)
        self.db_url = database(course)
        self._autograded = course.root / "autograded"
        self.ledger = Ledger(self.db_url)
        self.recorder: Recorder | None = None
        self.grader = version(settings)
        self.only_lessons, self.only_students = list(dict.fromkeys(lessons)), list(dict.fromkeys(students))
        self.lessons: dict[str, Lesson] = {}
        self.copied = False  # whether a copy of the gradebook was made
        self.stop = threading.Event()

    def close(self) -> None:
        self.ledger.close()
        if self.recorder is not None:
            self.recorder.close()

    def all(self) -> None:
        found = self._find()
        if not found:
            return
        self._bring_up()
        self.recorder = Recorder(self.db_url, self.config)
        self._clear_up()
        to_do = self._plan(found)
        self.watch.plan(len(to_do), self.outcome.up_to_date)
        if to_do:
            self._back_up()
            self._grade(to_do)

    def _say(self, line: str) -> None:
        self.outcome.said.append(line)
        self.watch.say(line)

    # ---- before the first submission

    def _find(self) -> list[tuple[str, str]]:
        """The hand-ins that are asked for: (lesson, student), by lesson and student."""
        known = sorted(path.parent.name for path in (self.course.root / "source").glob("*/*.ipynb")
                       if path.stem == path.parent.name)
        if strange := [name for name in self.only_lessons if name not in known]:
            raise Stop(f"there is no lesson {strange[0]} in source/: there are {', '.join(known) or 'none'}")
        submitted = self.course.root / "submitted"
        excluded = {name.strip() for name in self.directory.student_id_exclude.split(",")}
        there = sorted(path.name for path in submitted.iterdir() if path.is_dir() and not path.name.startswith(".")
                       and path.name not in excluded) if submitted.is_dir() else []
        if not there:
            raise Stop(f"nothing was handed in: {submitted} holds no folder of a student")
        if strange := [name for name in self.only_students if name not in there]:
            raise Stop(f"there is no folder submitted/{strange[0]}")
        wanted = self.only_lessons or known
        found = []
        for student in self.only_students or there:
            try:
                held = sorted(path for path in (submitted / student).iterdir() if not path.name.startswith("."))
            except OSError as problem:
                self._trouble("all lessons", student, FAILED, f"the folder cannot be opened ({problem.strerror})")
                continue
            for path in held:
                if path.name in wanted:
                    if why := _unfit(student):
                        self._trouble(path.name, student, FAILED, f"the folder's name {why}")
                    else:
                        found.append((path.name, student))
                elif path.is_dir() and not self.only_lessons:
                    why = f"there is no lesson of this name: source/{path.name}/{path.name}.ipynb is missing"
                    self._trouble(path.name, student, MISSING, why)
        if not found:
            self._say("nothing was handed in" + (f" for {', '.join(self.only_lessons)}" if self.only_lessons else ""))
        for lesson in sorted({lesson for lesson, _ in found}):
            students_own = self.converter.exclude_overwriting.get(lesson, ())
            try:
                self.lessons[lesson] = Lesson.read(self.course, lesson, students_own)
            except (ValueError, KeyError, AttributeError) as problem:
                why = f"source/{lesson}/{lesson}.ipynb cannot be read ({type(problem).__name__}: {problem})"
                raise Stop(f"{why}: build the lesson again") from problem
        return sorted(found)

    def _bring_up(self) -> None:
        """Bring the gradebook up to source/; takes seconds a lesson, so only if something has changed."""
        rules = sorted((_PACKAGE / "course").glob("*.py"))
        rules_digest = _digest([path.read_bytes() for path in (self.course.root / "nbgrader_config.py", *rules)])
        wanted = {name: _digest(lesson.digest, rules_digest) for name, lesson in self.lessons.items()}
        known = self.ledger.synced()
        changed = [name for name in wanted if known.get(name) != wanted[name]]
        if not changed:
            return
        for line in sync(self.course, changed):
            if not line.endswith("up to date") and "grade them again" not in line:  # which is what we do
                self._say(line)
            self.copied = self.copied or line.startswith("gradebook copied")
        recorder = Recorder(self.db_url, self.config)
        recorder.remember_synced({name: wanted[name] for name in changed})
        recorder.close()

    def _clear_up(self) -> None:
        """Finish or remove what a run that was killed left in autograded/."""
        left = [path for path in self._autograded.glob(f"{_WAITING}*") if not path.name.endswith(_OLD)]
        placed = self.ledger.places(path.name for path in left)
        for path in left:
            if path.name in placed:  # its grade is in the gradebook
                self._place(path, *placed[path.name])
        for path in self._autograded.glob(f"{_WAITING}*"):
            shutil.rmtree(path)

    def _plan(self, found: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Which hand-ins have to be graded; notes what is up to date."""
        held, self.late = self.ledger.states(), self.ledger.lateness()
        to_do = []
        for lesson, student in found:
            hand_in, _ = self._read(lesson, student)
            status, digest, why, once_graded = held.get((lesson, student), ("", "", "", False))
            there = status != GRADED or (self._place_of(hand_in) / f"{lesson}.ipynb").is_file()
            if self.force or hand_in.digest != digest or not there:
                to_do.append((lesson, student))
            elif status == GRADED:
                self.outcome.up_to_date += 1
            else:
                self._trouble(lesson, student, status, why + (_STANDS if once_graded else ""))
        return to_do

    def _back_up(self) -> None:
        file = file_of(self.db_url)
        if file is not None and not self.copied:  # a database server has backups of its own
            copy = back_up(file, self.course.root / FOLDER)
            self._say(f"gradebook copied to {FOLDER}/{copy.name}")

    def _trouble(self, lesson: str, student: str, status: str, why: str) -> None:
        self.outcome.troubles.append(Trouble(lesson, student, status, why))

    # ---- in the workers' threads

    def _read(self, lesson: str, student: str) -> tuple[HandIn, Folder | Exception]:
        """What lies in a hand-in folder, or why nothing can be graded; and what identifies it."""
        rules = self.lessons[lesson]
        try:
            folder = Folder.read(self.course.root / "submitted" / student / lesson, rules)
        except (Missing, intake.Unreadable) as problem:
            return HandIn(lesson, student, _digest(type(problem).__name__, str(problem), self.grader)), problem
        content = _digest(folder.found.data, folder.found.files)
        late = self.late(lesson, student, folder.timestamp)
        tests = {name: _digest(of, content) for name, of in rules.tests.items()}
        digest = _digest(content, folder.stamp, late, rules.digest, self.grader)
        return HandIn(lesson, student, digest, content, self.grader, tests, folder.timestamp), folder

    def _examine(self, lesson: str, student: str) -> _Done:
        """Have one submission graded. Raises OSError if its files cannot be written, NotStarted."""
        self.watch.begin(lesson, student)
        try:
            hand_in, folder = self._read(lesson, student)
            if isinstance(folder, Exception):
                status = MISSING if isinstance(folder, Missing) else UNREADABLE
                return _Done(hand_in, Graded(status, str(folder)))
            rules = self.lessons[lesson]
            earlier = None if self.force else self.ledger.entry(lesson, student)
            keep = self._what_stands(hand_in, earlier)
            found = folder.found
            files = {**found.files, **rules.files}  # as nbgrader: the course's files replace a student's
            try:
                graded = self._ask(Job(lesson, rules.source, found.data, files, keep))
            except NotStarted:
                raise  # the others would fare no better
            except Broken as problem:
                return _Done(replace(hand_in, digest=""), Graded(FAILED, str(problem)))  # so that it is tried again
            if graded.status != GRADED:
                return _Done(hand_in, graded)
            graded.questions.update({name: earlier.questions[name] for name in keep})
            _tell(graded, found.notes)
            waiting = self._write_files(hand_in, folder.stamp, files, graded)
            return _Done(replace(hand_in, place=waiting.name), graded, waiting)
        finally:
            self.watch.end(lesson, student)

    def _ask(self, job: Job) -> Graded:
        try:
            return self.examiners.grade(job)
        except Broken as problem:
            if self.stop.is_set() or isinstance(problem, NotStarted):
                raise
            return self.examiners.grade(job)

    def _what_stands(self, hand_in: HandIn, earlier: Entry | None) -> dict[str, dict]:
        """The test cells that would say the same again, from the autograded notebook: by grade id."""
        if earlier is None or earlier.status != GRADED or earlier.grader != self.grader:
            return {}
        same = {name for name, digest in hand_in.tests.items()
                if earlier.digests.get(name) == digest and earlier.questions[name].status in _FINAL}
        path = self._place_of(hand_in) / f"{hand_in.lesson}.ipynb"
        held = path.read_bytes() if same and path.is_file() else b""
        if hashlib.sha256(held).hexdigest() != earlier.notebook:  # somebody else's work, such as Formgrader's
            return {}
        cells = {cell.get("metadata", {}).get("nbgrader", {}).get("grade_id"): cell
                 for cell in nbformat.v4.reads_json(held.decode()).cells}
        return {name: {"outputs": cells[name].outputs, "metadata": cells[name].metadata}
                for name in same if name in cells}

    def _write_files(self, hand_in: HandIn, stamp: bytes | None, files: dict[str, bytes], graded: Graded) -> Path:
        """Write what belongs into autograded/, as nbgrader does, into a folder that waits for the transaction."""
        waiting = self._autograded / f"{_WAITING}{uuid.uuid4().hex}"
        mode = int(str(self.converter.permissions), 8)
        stamped = {} if stamp is None else {TIMESTAMP: stamp}
        for name, data in {**files, **stamped, f"{hand_in.lesson}.ipynb": graded.notebook}.items():
            path = waiting / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "xb") as file:
                file.write(data)
                if path.suffix == ".ipynb":
                    file.flush()
                    os.fsync(file.fileno())  # in the gradebook only what is on the disk
            path.chmod(mode)
        if self.directory.groupshared:
            for inner in (waiting, *(path for path in waiting.rglob("*") if path.is_dir())):
                inner.chmod(inner.stat().st_mode & 0o2777 | 0o2770)
        return waiting

    # ---- in the main thread

    def _grade(self, to_do: list[tuple[str, str]]) -> None:
        left = iter(to_do)
        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="examiner")
        try:
            with self._stop_at_ctrl_c():
                # A few more than there are workers, so that none waits for the writer; never the whole class.
                running = {pool.submit(self._examine, *pair) for pair in islice(left, 2 * self.workers)}
                while running and not self.stop.is_set():
                    done, running = wait(running, 0.2, FIRST_COMPLETED)
                    for future in done:
                        running |= {pool.submit(self._examine, *pair) for pair in islice(left, 1)}
                        self._write(future)
                self.outcome.stopped = self.stop.is_set()
        finally:
            self.stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            self.examiners.close()
            pool.shutdown()
            with contextlib.suppress(DatabaseError, OSError):  # then the next run does it
                self._clear_up()

    def _write(self, future: "Future[_Done]") -> None:
        """Write down what became of one submission. Raises Stop."""
        begun = time.monotonic()
        try:
            done = future.result()
            if done.waiting is not None:
                done = self._save(done)
            if done.waiting is None:
                self._note(done)
        except (Busy, NotStarted, OSError, DatabaseError) as problem:
            why = f"stopped: {_why(problem)}; {self.outcome.graded} graded are kept, run again to go on"
            raise Stop(why) from problem
        self.outcome.writing += time.monotonic() - begun

    def _save(self, done: _Done) -> _Done:
        hand_in, place = done.hand_in, self._place_of(done.hand_in)
        try:
            changes = self.recorder.save(hand_in, done.graded, earlier=place / f"{hand_in.lesson}.ipynb")
        except (Busy, OSError, DatabaseError):
            raise
        except Exception as problem:  # a late penalty's own code, a test cell with too many points
            shutil.rmtree(done.waiting)
            why = f"its grade cannot be written ({type(problem).__name__}: {problem})"
            return _Done(replace(hand_in, digest=""), Graded(FAILED, why))
        self._place(done.waiting, hand_in.lesson, hand_in.student)
        self.outcome.graded += 1
        self.outcome.changes += changes
        self.watch.written(hand_in.lesson, hand_in.student, GRADED, _summary(done.graded))
        return done

    def _note(self, done: _Done) -> None:
        hand_in, graded = done.hand_in, done.graded
        why = graded.reason
        if self.recorder.note(hand_in, graded.status, why):
            why += _STANDS
        self._trouble(hand_in.lesson, hand_in.student, graded.status, why)
        self.watch.written(hand_in.lesson, hand_in.student, graded.status, why)

    def _place(self, waiting: Path, lesson: str, student: str) -> None:
        """Move graded files to where nbgrader looks for them."""
        place = self._autograded / student / lesson
        place.parent.mkdir(exist_ok=True)
        if place.exists():
            place.rename(waiting.with_name(waiting.name + _OLD))
        waiting.rename(place)
        shutil.rmtree(waiting.with_name(waiting.name + _OLD), ignore_errors=True)

    def _place_of(self, hand_in: HandIn) -> Path:
        return self._autograded / hand_in.student / hand_in.lesson

    @contextlib.contextmanager
    def _stop_at_ctrl_c(self) -> Iterator[None]:
        """Ctrl-C ends the run between two submissions, never within one that is being written; twice, at once."""
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or before == signal.SIG_IGN:
            yield
            return

        def stop(*_) -> None:
            self.stop.set()
            signal.signal(signal.SIGINT, before)

        signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


def _why(problem: Exception) -> str:
    """What is wrong with the gradebook, a folder or the grader, and what to do, in a part of a line."""
    if isinstance(problem, OSError):
        return f"{problem.strerror}: {problem.filename}" if problem.filename else problem.strerror or str(problem)
    if not isinstance(problem, DatabaseError):
        return str(problem)
    said = str(problem.orig)
    ways = {"locked": "end the other program that holds it", "full": "make room on its disk",
            "readonly": "see that you may write the file and its folder"}
    found = [way for word, way in ways.items() if word in said]
    if type(problem) is DatabaseError:  # sqlite's own: a damaged file
        found = ["put a copy back with `manyheads grade --restore latest`"]
    return f"the gradebook cannot be used ({said})" + "".join(f": {way}" for way in found[:1])


def _unfit(name: str) -> str:
    """Why a folder's name cannot be a student's id; empty if it can."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return "is not UTF-8, so no gradebook can hold it"
    return "" if intake.is_plain_name(name) else intake.NOT_PLAIN


def _tell(graded: Graded, repaired: list[str]) -> None:
    """Put what was repaired in the folder beside what was repaired in the notebook."""
    if repaired:
        graded.repaired[:0] = repaired
        notebook = json.loads(graded.notebook)
        notebook["metadata"].setdefault("manyheads", {})["repaired"] = graded.repaired
        graded.notebook = json.dumps(notebook, indent=1, ensure_ascii=False).encode() + b"\n"


def _summary(graded: Graded) -> str:
    got = sum(question.points or 0 for question in graded.questions.values())
    most = sum(question.of for question in graded.questions.values() if question.points is not None)
    by_hand = sum(question.of for question in graded.questions.values() if question.points is None)
    stopped = [f"{name} {question.status}" for name, question in graded.questions.items()
               if question.status in ("timed out", "crashed")]
    said = [f"{got:g} of {most:g} points", *([f"{by_hand:g} by hand"] if by_hand else []), *stopped]
    return ", ".join(said) + f" ({graded.seconds.get('all', 0):.1f} s)"
