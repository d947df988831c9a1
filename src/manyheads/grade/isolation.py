"""The way into isolated grading: a workshop, which gives each submission an examiner of its own.

The client (nbgrader, Formgrader's server, ``manyheads grade``) never runs student code and never imports torch: it
starts one warm helper, the zygote, and asks it for an examiner for each job. The examiner is a trusted process, which
in turn asks for student processes in the sandbox.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from . import frames
from .sandbox import FULL, NONE, REDUCED, Limits, probe

# A zygote takes 2 to 4 s to import everything; this is for a machine under load.
SECONDS_TO_START = 120


class Unsafe(Exception):
    """The sandbox that was asked for is not to be had on this machine; in one line, with what to do."""


class Broken(Exception):
    """A process of the grader's own failed; nothing is known of the submission."""


class NotStarted(Broken):
    """The warm helper process does not start, so that nothing can be graded here."""


@dataclass(frozen=True)
class Settings:
    """How safely and how long a submission may run. Times are in seconds."""

    level: str = FULL
    limits: Limits = Limits()
    seconds_a_cell: float = 30.0
    seconds_a_call: float = 10.0
    seconds_in_all: float = 180.0

    def to_dict(self) -> dict:
        return asdict(self)

    @classmethod
    def from_dict(cls, held: dict) -> "Settings":
        return cls(**{**held, "limits": Limits.from_dict(held["limits"])})


@dataclass(frozen=True)
class Question:
    """What became of one graded cell. ``points`` is None while somebody has to mark it by hand."""

    status: str
    message: str = ""
    mistake: str | None = None
    points: float | None = None
    of: float = 0.0


@dataclass
class Job:
    """One submission to grade.

    ``submission`` holds the bytes as they were handed in, whatever they are, and ``files`` the student's other files.
    ``keep`` holds test cells, by grade id, whose earlier result stands. Without ``intake`` the submission is taken as it
    is: nbgrader has rebuilt it already.
    """

    lesson: str
    source: bytes
    submission: bytes
    files: dict[str, bytes] = field(default_factory=dict)
    keep: dict[str, dict] = field(default_factory=dict)
    intake: bool = True


@dataclass
class Graded:
    """What grading one submission gave; ``status`` is "graded", "unreadable" or "failed".

    ``notebook`` is the autograded notebook as JSON, empty if it is not graded.
    """

    status: str
    reason: str = ""
    notebook: bytes = b""
    questions: dict[str, Question] = field(default_factory=dict)
    repaired: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    sandbox: str = ""


def demand(level: str) -> None:
    """Raise Unsafe unless this machine has the sandbox ``level`` or a better one."""
    if level == NONE:
        return
    report = probe()
    order = (NONE, REDUCED, FULL)
    if order.index(report.level) < order.index(level):
        missing = "; ".join(report.missing) or "no reason is known"
        way = ("--reduced-sandbox grades with less protection, " if report.level == REDUCED else "")
        raise Unsafe(f"no {level} sandbox on this machine ({missing}): ask `manyheads doctor`; "
                     f"{way}--no-sandbox with none at all")


class Workshop:
    """A zygote and the examiners that come from it. Thread-safe; a context manager. Raises Unsafe when made."""

    def __init__(self, settings: Settings = Settings()):
        demand(settings.level)
        self.settings = settings
        self._lock = threading.Lock()
        self._zygote: subprocess.Popen | None = None
        self._control: socket.socket | None = None

    def __enter__(self) -> "Workshop":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def grade(self, job: Job) -> Graded:
        """Grade one submission; takes as long as that takes. Raises Broken.

        An examiner whose own work takes too long ends itself: the submission is "failed", and nobody should try again.
        """
        begun = time.monotonic()
        with self._examiner() as line:
            order = {"settings": self.settings.to_dict(), "lesson": job.lesson, "intake": job.intake,
                     "keep": job.keep, "files": list(job.files)}
            frames.send(line, order, [job.source, job.submission, *job.files.values()],
                        most_bytes=frames.MOST_WITH_A_NOTEBOOK)
            try:
                answer, (notebook, *_) = frames.receive(line, most_bytes=frames.MOST_WITH_A_NOTEBOOK)
            except (EOFError, OSError) as problem:
                if time.monotonic() - begun > self.settings.seconds_in_all:
                    return Graded("failed", "its examination took too long: look at this hand-in yourself")
                raise Broken(f"the examiner ended without an answer ({problem or type(problem).__name__})") from None
        if "broken" in answer:
            raise Broken(answer["broken"])
        answer["questions"] = {name: Question(**held) for name, held in answer["questions"].items()}
        return Graded(notebook=notebook, **answer)

    def close(self) -> None:
        """End the zygote and every process that came from it."""
        if not self._lock.acquire(timeout=1):  # a zygote is being waited for
            self._zygote.kill()
            self._lock.acquire()
        try:
            if self._control is not None:
                self._control.close()
                self._control = None
            if self._zygote is not None:
                try:
                    self._zygote.wait(10)
                except subprocess.TimeoutExpired:
                    self._zygote.kill()
                    self._zygote.wait()
                self._zygote = None
        finally:
            self._lock.release()

    @contextlib.contextmanager
    def _examiner(self) -> Iterator[socket.socket]:
        mine, theirs = socket.socketpair()
        with mine:
            with theirs, self._lock:
                for attempt in range(2):  # the zygote goes home when it has been idle
                    try:
                        self._start()
                        socket.send_fds(self._control, [b'{"start": "examiner"}'], [theirs.fileno()])
                        break
                    except OSError:
                        if self._control is not None:
                            self._control.close()
                            self._control = None
                        if attempt:
                            raise Broken("the warm helper process cannot be reached") from None
            yield mine

    def _start(self) -> None:
        if self._control is not None and self._zygote.poll() is None:
            return
        if self._zygote is not None:
            self._zygote.wait()
        mine, theirs = socket.socketpair(socket.AF_UNIX, frames.PACKETS)
        root = str(Path(__file__).resolve().parents[2])
        start = f"import sys; sys.path.insert(0, {root!r}); from manyheads.grade.zygote import main; main({theirs.fileno()})"
        with theirs:
            # -I: neither the current folder nor PYTHONPATH decides what is imported.
            self._zygote = subprocess.Popen([sys.executable, "-I", "-c", start], pass_fds=[theirs.fileno()],
                                            env=_environment(), cwd="/", stdin=subprocess.DEVNULL,
                                            start_new_session=True)  # Ctrl-C is for the client to act on
        mine.settimeout(SECONDS_TO_START)
        try:
            hello = mine.recv(1024)
        except TimeoutError:
            hello = b""
        if not hello or "ready" not in json.loads(hello):
            mine.close()
            self._zygote.kill()
            self._zygote.wait()
            raise NotStarted("the warm helper process did not start; above stands what it said")
        mine.settimeout(None)
        self._control = mine


def _environment() -> dict[str, str]:
    """All that the zygote, and so every student, may know of the client's environment."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH") if name in os.environ}
    try:
        import pwd

        pwd.getpwuid(os.getuid())
    except (ImportError, KeyError):  # a user without a name, as in many containers: libraries then ask HOME, or give up
        kept["HOME"] = os.environ.get("HOME") or "/"
    return {**kept, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
            "NBGRADER_EXECUTION": "autograde", "MPLBACKEND": "module://matplotlib_inline.backend_inline"}
