"""A class graded by stock nbgrader and by `manyheads grade`, one after the other on this machine.

    python benchmarks/grade_class.py [--students 30] [--workers N] [--many 1000]

Every student hands in every lesson: right answers, known mistakes, other styles, partly right, stopping with an error,
half done and blank, by turns. Both graders start from the same hand-ins and an empty gradebook:

  stock   `nbgrader autograde LESSON` for one lesson after the other, with nbgrader's own steps: one kernel a notebook,
          student and test code in one process, no sandbox
  ours    `manyheads grade`, with the full sandbox

What is done once for a lesson is not counted: nbgrader's release, and the same in `manyheads grade`. The grades of all
automatic questions must be the same, or this stops. It prints for each the seconds a notebook and the
most memory that all its processes held at once (proportional set size, looked at twice a second), the ratio, and for
ours where the time went: to start student processes again, in the student's own cells (the first one waits for its
process), in the tests, in the gradebook; and the limit, which is the own cells' time divided by the cores.

With --many, that many hand-ins of one lesson each are graded too, and the cost and the memory are printed as it goes:
both should stay flat.
"""

import argparse
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

import nbformat

from manyheads.course import sample
from manyheads.course.build import build_into
from manyheads.course.gradebook import sync
from manyheads.course.lesson import Course
from manyheads.grade.record import Ledger, database

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
KINDS = ("all-right", "known-mistakes", "other-style", "partial", "raises", "half-done", "blank")
STOCK = """
c.pop("Execute", None)
from nbgrader.converters import Autograde as _Autograde
c.Autograde.sanitize_preprocessors = _Autograde.sanitize_preprocessors.default_args[0]
c.Autograde.autograde_preprocessors = _Autograde.autograde_preprocessors.default_args[0]
"""


class Memory(threading.Thread):
    """The most memory, in MB, that a process and all that come from it hold at once."""

    def __init__(self, pid: int):
        super().__init__(daemon=True)
        self.pid, self.most, self.over = pid, 0.0, threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.5):
            self.most = max(self.most, sum(map(proportional, family(self.pid))))


def family(pid: int) -> list[int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                pass
    found, more = {pid}, True
    while more:
        more = {child for child, parent in parents.items() if parent in found} - found
        found |= more
    return sorted(found)


def proportional(pid: int) -> float:
    try:
        with open(f"/proc/{pid}/smaps_rollup") as lines:
            return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
    except (OSError, ValueError):
        return 0.0


def run(*commands: list[str], folder: Path) -> tuple[float, float]:
    """Seconds and megabytes of commands run one after the other."""
    spent, most = 0.0, 0.0
    for command in commands:
        begun = time.monotonic()
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   env=os.environ | {"OMP_NUM_THREADS": "1", "PATH": f"{BIN}:{os.environ['PATH']}"})
        memory = Memory(process.pid)
        memory.start()
        said, _ = process.communicate()
        memory.over.set()
        spent, most = spent + time.monotonic() - begun, max(most, memory.most)
        if process.returncode:
            sys.exit(f"{' '.join(command)} failed:\n{said[-3000:]}")
    return spent, most


def scores(folder: Path) -> dict[tuple[str, str, str], float | None]:
    query = """SELECT assignment.name, submitted_assignment.student_id, base_cell.name, grade.auto_score
               FROM grade JOIN base_cell ON base_cell.id = grade.cell_id
               JOIN submitted_notebook ON submitted_notebook.id = grade.notebook_id
               JOIN submitted_assignment ON submitted_assignment.id = submitted_notebook.assignment_id
               JOIN assignment ON assignment.id = submitted_assignment.assignment_id"""
    with closing(sqlite3.connect(folder / "gradebook.db")) as gradebook:
        return {tuple(row[:3]): row[3] for row in gradebook.execute(query)}


def hand_in(course: Course, lesson: str, student: str, kind: str) -> None:
    path = course.root / "submitted" / student / lesson / f"{lesson}.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(sample.hand_in(course, lesson, kind), path)


def compare(students: int, workers: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        course = build_into(Path(scratch) / "ours")
        lessons = course.lessons()
        for number in range(students):
            for place, lesson in enumerate(lessons):
                hand_in(course, lesson, f"student-{number:03}", KINDS[(number + place) % len(KINDS)])
        sync(course)
        stock = Path(scratch) / "stock"
        shutil.copytree(course.root, stock)
        with open(stock / "nbgrader_config.py", "a") as config:
            config.write(STOCK)
        count = students * len(lessons)
        print(f"{count} notebooks of {students} students, {os.cpu_count()} cores, {workers} workers", flush=True)
        grade = [str(BIN / "manyheads"), "grade", "--workers", str(workers)]
        run([*grade, "--student", "student-000"], folder=course.root)  # brings the gradebook up to source/, once
        ours = run([*grade, "--force"], folder=course.root)
        print(f"ours   {ours[0]:7.1f} s  {ours[0] / count:6.3f} s a notebook  {ours[1]:6.0f} MB", flush=True)
        theirs = run(*[[str(BIN / "nbgrader"), "autograde", lesson] for lesson in lessons], folder=stock)
        print(f"stock  {theirs[0]:7.1f} s  {theirs[0] / count:6.3f} s a notebook  {theirs[1]:6.0f} MB")
        one, other = scores(course.root), scores(stock)
        different = sorted(key for key in one.keys() | other.keys() if one.get(key) != other.get(key))
        if different:
            sys.exit("\n".join(["the grades differ:", *(f"{key}: {one.get(key)}, stock {other.get(key)}" for key in different)]))
        print(f"the same {len(one)} grades in both; ratio {theirs[0] / ours[0]:.1f}")
        show_split(course, count, ours[0])


def show_split(course: Course, count: int, seconds: float) -> None:
    ledger = Ledger(database(course))
    spent: dict[str, float] = {}
    for entry in ledger.entries():
        for part, value in entry.seconds.items():
            spent[part] = spent.get(part, 0.0) + value
    ledger.close()
    print("ours, milliseconds a notebook in its examiner: "
          + ", ".join(f"{part} {1000 * value / count:.0f}" for part, value in spent.items()))
    cells = spent.get("cells", 0.0)
    print(f"limit: own cells {cells:.1f} s / {os.cpu_count()} cores = {cells / os.cpu_count():.1f} s; "
          f"the run took {seconds:.1f} s")


GRADE_MANY = """
import sys, time
from pathlib import Path
from manyheads.course.lesson import Course
from manyheads.grade import engine
from manyheads.grade.isolation import Settings

class Watch(engine.Watch):
    count, since = 0, time.monotonic()
    def written(self, *_):
        self.count += 1
        if self.count % 100 == 0:
            held = int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20
            print(f"{self.count:5}  {(time.monotonic() - self.since) / 100:.3f} s a notebook  {held:.0f} MB in the client", flush=True)
            self.since = time.monotonic()

print(f"writing: {engine.grade(Course(Path('.').resolve()), workers=int(sys.argv[1]), watch=Watch()).writing:.1f} s")
"""


def many(count: int, workers: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        course = build_into(Path(scratch) / "many")
        lessons = course.lessons()
        for number in range(count):
            hand_in(course, lessons[number % len(lessons)], f"student-{number:04}", KINDS[number % len(KINDS)])
        sync(course)
        print(f"{count} hand-ins, one lesson each", flush=True)
        process = subprocess.Popen([sys.executable, "-c", GRADE_MANY, str(workers)], cwd=course.root)
        memory = Memory(process.pid)
        memory.start()
        begun = time.monotonic()
        if process.wait():
            sys.exit("grading many failed")
        memory.over.set()
        print(f"in all {time.monotonic() - begun:.1f} s, at most {memory.most:.0f} MB in all processes together")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--many", type=int, default=0, metavar="COUNT")
    asked = parser.parse_args()
    if asked.students:
        compare(asked.students, asked.workers)
    if asked.many:
        many(asked.many, asked.workers)
