"""The class that the bank is: one course folder, secrets around it, every case a student, honest ones between them."""

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from tiny_course import LESSON

from manyheads.course.gradebook import sync
from manyheads.course.lesson import Course

from .case import Case, World, as_bytes, own_cell
from .lesson import RIGHT, fill, make_course

HERE = Path(__file__).parent
COMMENTED = "canary-student"  # known to the gradebook, hands nothing in
HONEST = "zz-honest"  # comes after the cases of a kind
# Short limits, so that those who use them up cost little.
LIMITS = """
c.IsolatedExecute.seconds_a_cell = 5
c.IsolatedExecute.seconds_a_call = 3
c.IsolatedExecute.seconds_in_all = 20
c.IsolatedExecute.limits = dict(memory_mb=768, total_memory_mb=1024, cpu_seconds=30, processes=24, file_mb=32, scratch_mb=64)
"""
MANYHEADS = ("-c", "from manyheads.cli import main; main()")


def canary(place: str) -> str:
    return f"CANARY-{place}-{secrets.token_hex(8)}"


@dataclass
class Class:
    """A course folder under attack, with what was planted in it and around it."""

    course: Course
    world: World
    canaries: dict[str, str]
    released: NotebookNode
    reached: list[str] = field(default_factory=list)  # servers of this machine that somebody spoke to

    @property
    def environment(self) -> dict[str, str]:
        """What the client of the grader has in its environment: a secret, and a home folder with another."""
        return os.environ | {"HOME": str(self.world.home), "MANYHEADS_SECRET": self.canaries["environment"],
                             "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}

    def hand_in(self, case: Case) -> None:
        case.write(self.course.root / "submitted" / case.student / LESSON, self.released, self.world)

    def hand_in_honest(self, student: str, secret: bool = False) -> None:
        nb = fill(nbformat.from_dict(json.loads(json.dumps(self.released))), RIGHT)
        if secret:
            nb.cells.append(own_cell(f"# {self.canaries['student']}"))
        path = self.course.root / "submitted" / student / LESSON / f"{LESSON}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(as_bytes(nb))

    def gradebook(self) -> Gradebook:
        return Gradebook(f"sqlite:///{self.course.root / 'gradebook.db'}", "manyheads")

    def points(self, student: str) -> dict[str, float | None] | None:
        """What nbgrader's gradebook says of a student: question -> automatic points; None if nothing."""
        with self.gradebook() as gradebook:
            found = [one for one in gradebook.assignment_submissions(LESSON) if one.student.id == student]
            if not found or not found[0].notebooks:
                return None
            return {grade.name: grade.auto_score for grade in found[0].notebooks[0].grades if grade.name != "written"}

    def autograded(self, student: str) -> NotebookNode | None:
        path = self.course.root / "autograded" / student / LESSON / f"{LESSON}.ipynb"
        return nbformat.read(path, as_version=4) if path.is_file() else None


@contextlib.contextmanager
def attacked_course(folder: Path) -> Iterator[Class]:
    """A course at ``folder``, with canaries and with servers that nobody should reach."""
    token = secrets.token_hex(6)
    canaries = {place: canary(place) for place in ("hidden", "solution", "gradebook", "student", "environment", "home", "tmp")}
    course = make_course(folder / "course", canaries["hidden"], canaries["solution"])
    with (course.root / "nbgrader_config.py").open("a") as file:
        file.write(LIMITS)
    sync(course, [LESSON])
    home, outside = folder / "home", Path(f"/tmp/manyheads-{token}-secret")
    for inner in (".jupyter", ".ipython/profile_default/startup"):
        (home / inner).mkdir(parents=True)
    (home / "secret.txt").write_text(canaries["home"])
    outside.write_text(canaries["tmp"])
    reached: list[str] = []
    with contextlib.ExitStack() as servers:
        servers.callback(outside.unlink, missing_ok=True)
        port = servers.enter_context(_server(reached, "TCP", socket.AF_INET, ("127.0.0.1", 0)))[1]
        servers.enter_context(_server(reached, "UNIX", socket.AF_UNIX, f"/tmp/manyheads-{token}-socket"))
        servers.callback(Path(f"/tmp/manyheads-{token}-socket").unlink, missing_ok=True)
        servers.enter_context(_server(reached, "abstract", socket.AF_UNIX, f"\0manyheads-{token}"))
        released = nbformat.read(course.notebook("release", LESSON), as_version=4)
        made = Class(course, World(course.root, home, port, token), canaries, released, reached)
        with made.gradebook() as gradebook:
            gradebook.add_student(COMMENTED, last_name=canaries["gradebook"])
        yield made


@contextlib.contextmanager
def _server(reached: list[str], name: str, family: int, address: object) -> Iterator[object]:
    """A server that greets whoever comes and notes it. Gives its address."""
    with socket.socket(family) as listener:
        listener.bind(address)
        listener.listen()

        def serve() -> None:
            while True:
                try:
                    visitor, _ = listener.accept()
                except OSError:
                    return
                reached.append(name)
                with contextlib.suppress(OSError), visitor:
                    visitor.sendall(b"HTTP/1.0 200 OK\r\n\r\nwelcome")

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)


def hand_in_all(made: Class, cases: Iterable[Case]) -> list[str]:
    """Every case hands in, and after the cases of each kind an honest student. Returns the honest ones."""
    kinds = {}
    for case in cases:
        made.hand_in(case)
        kinds[case.kind] = f"{case.kind}-{HONEST}"
    for number, student in enumerate(kinds.values()):
        made.hand_in_honest(student, secret=number == 0)
    return list(kinds.values())


def watched(made: Class, seconds: float, *command: str) -> dict:
    """Run a command of this Python in the course folder and tell what watch.py saw of it; ``said`` is its output."""
    result = made.course.root.parent / "watched.json"
    result.unlink(missing_ok=True)
    ran = subprocess.run([sys.executable, HERE / "watch.py", result, str(seconds), sys.executable, *command],
                         cwd=made.course.root, env=made.environment, stdin=subprocess.DEVNULL, text=True, errors="replace",
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds + 60)
    return {**json.loads(result.read_text()), "said": ran.stdout}


def copy_alone(made: Class, folder: Path, student: str) -> Class:
    """The same course with one student only."""
    shutil.copytree(made.course.root, folder, ignore=shutil.ignore_patterns("submitted", "autograded", "gradebook-backups"))
    shutil.copytree(made.course.root / "submitted" / student, folder / "submitted" / student)
    return Class(Course(folder), made.world, made.canaries, made.released)
