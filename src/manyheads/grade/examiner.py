"""The trusted process that grades one submission.

It runs the set-up and the test cells of ``source/``, and has everything else run in a student process. The names that
tests may ask for are bound to what :mod:`.remote` brings across the border: plain data, or stand-ins.
"""

import ast
import contextlib
import hashlib
import random
import signal
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

import nbformat
import numpy as np
import torch
from nbformat import NotebookNode
from nbgrader.utils import determine_grade, is_grade, is_solution

from manyheads.course.lesson import role_of
from manyheads.course.refuse import names_of

from . import feedback, frames, harmless, intake, sandbox
from .feedback import CRASHED, NOT_ATTEMPTED, TIMED_OUT
from .isolation import Question, Settings
from .remote import CellTimeoutError, Process, Remote, StudentProcessDied
from .shell import Shell

GRADED, BY_HAND = "graded", "by hand"
_NO_ANSWER = (TIMED_OUT, CRASHED, NOT_ATTEMPTED)  # what else may become of a question, by a verdict of that name
SECONDS_OF_OUR_OWN = 60  # beyond what student code may take
MOST_SHOWN = 16_000_000  # characters of all outputs of a notebook
# Of our processor, for judging what student code gave: a test's own function may be called with anything.
SECONDS_TO_JUDGE, SECONDS_TO_JUDGE_ALL = 10.0, 25.0  # one question, all of them
MOST_MEMORY_MB = 4096  # of our own, on top of what the warm start has mapped
MOST_PROCESSES = 12  # for one submission: each dead one is replaced, and the cells before are run again


def serve(line: socket.socket, ask: socket.socket, shell: Shell) -> None:
    """Do the one job that comes over the line, and answer."""
    _limit_memory()
    order, (source, submission, *files) = frames.receive(line, most_bytes=frames.MOST_WITH_A_NOTEBOOK)
    try:
        answer, notebook = grade(order, source, submission, dict(zip(order["files"], files, strict=True)), ask, shell)
    except intake.Unreadable as problem:
        answer, notebook = {"status": "unreadable", "reason": str(problem), "questions": {}}, b""
    except Exception as problem:
        import traceback

        last = traceback.extract_tb(problem.__traceback__)[-1]
        where = f"{last.filename.rsplit('/', 1)[-1]}, line {last.lineno}"
        answer, notebook = {"broken": f"the examiner stopped: {type(problem).__name__}: {problem} ({where})"}, b""
    frames.send(line, answer, [notebook], most_bytes=frames.MOST_WITH_A_NOTEBOOK)


def grade(order: dict, source: bytes, submission: bytes, files: dict[str, bytes], ask: socket.socket,
          shell: Shell) -> tuple[dict, bytes]:
    """Grade a submission. Returns the fields of :class:`.isolation.Graded` and the notebook. Raises Unreadable."""
    started = time.monotonic()
    settings = Settings.from_dict(order["settings"])
    # The last resort where even a limited test does not come back: our end is the end of our student processes.
    signal.alarm(int(settings.seconds_in_all) + SECONDS_OF_OUR_OWN)
    right = nbformat.v4.reads(source.decode())
    if order["intake"]:
        nb, repaired = intake.rebuild(intake.parse(submission), right)
    else:
        nb = nbformat.v4.reads(submission.decode())
        repaired = list(nb.metadata.get("manyheads", {}).get("repaired", []))
    read = time.monotonic()
    seed = hashlib.sha256(source + submission).digest()
    sitting = Sitting(nb, right, settings, files, seed, ask, shell, order["keep"])
    try:
        sitting.run()
    finally:
        sitting.end()
    questions = sitting.questions()
    harmless.make_harmless(nb)
    nb.metadata["manyheads"] = {**nb.metadata.get("manyheads", {}), "repaired": repaired, "sandbox": settings.level}
    seconds = {**sitting.seconds, "read": read - started, "all": time.monotonic() - started}
    answer = {"status": GRADED, "questions": {name: asdict(one) for name, one in questions.items()},
              "repaired": repaired, "notes": sitting.notes, "seconds": seconds, "sandbox": settings.level}
    return answer, nbformat.v4.writes(nb).encode() + b"\n"


@dataclass
class Sitting:
    """One submission on its way through the examination, cell by cell in the order of the notebook."""

    nb: NotebookNode
    source: NotebookNode
    settings: Settings
    files: dict[str, bytes]
    seed: bytes
    ask: socket.socket
    shell: Shell
    keep: dict[str, dict]
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=lambda: {"start": 0.0, "cells": 0.0, "tests": 0.0})
    mistakes: dict[str, str | None] = field(default_factory=dict)

    def __post_init__(self):
        self.deadline = time.monotonic() + self.settings.seconds_in_all
        self.process: Process | None = None
        self.started = 0
        self.done: list[tuple[str, int]] = []  # cells that ran in the student process: source, number
        self.lost: dict[str, BaseException] = {}  # name -> why the cell that should define it ended without
        self.right = {intake.grade_id(cell): cell.source for cell in self.source.cells if role_of(cell) in ("setup", "test")}
        self.asked = set(self.source.metadata.get("manyheads", {}).get("names") or names_of(self.source))
        self.solutions = {intake.grade_id(cell): cell.source for cell in self.source.cells if is_solution(cell)}
        self.number = 0
        self.shown = 0  # characters of outputs
        self.judged = 0.0  # seconds of our processor

    def run(self) -> None:
        for cell in self.nb.cells:
            if cell.cell_type != "code":
                continue
            cell.outputs, cell.execution_count = [], None
            role = role_of(cell)
            cell.source = self.right.get(intake.grade_id(cell), cell.source)
            if role in ("setup", "student"):
                self._run_student(cell)
            if role == "setup":
                self.shell.run(cell.source, self.number)  # the outputs are shown once
            if role == "test":
                self._run_test(cell)

    def end(self) -> None:
        if self.process is not None and self.process.gone is None:
            self.process.end()

    def questions(self) -> dict[str, Question]:
        """What became of each graded cell, also written into the cells."""
        found = {}
        for cell in self.nb.cells:
            if not is_grade(cell):
                continue
            name = cell.metadata.nbgrader["grade_id"]
            got, most = determine_grade(cell)
            if is_solution(cell):
                found[name] = Question(NOT_ATTEMPTED if got == 0 else BY_HAND, points=got, of=most)
                continue
            if name in self.keep:
                found[name] = _question(cell.metadata.get("manyheads", {}).get("verdict", {}), got, most)
                continue
            verdict = feedback.verdict(cell, self.nb)
            held = {"status": verdict.status, "message": verdict.message, "mistake": self.mistakes.get(name)}
            found[name] = _question(held, got, most)
            cell.metadata["manyheads"] = {**cell.metadata.get("manyheads", {}), "verdict": held}
        return found

    def _student(self) -> Process:
        """The student process; a new one, brought to the same point, if the last one is gone. Raises what that costs."""
        if self.process is not None and self.process.gone is None:
            return self.process
        if time.monotonic() >= self.deadline:
            raise CellTimeoutError("the time for the whole notebook was used up before this question.")
        if self.started >= MOST_PROCESSES:
            raise StudentProcessDied("your code ended the Python process too often.")
        begun = time.monotonic()
        self.started += 1
        self.process = Process(self.ask, self.settings, self.deadline)
        self.process.tell({"do": "files", "names": list(self.files)}, list(self.files.values()))
        self.process.tell({"do": "seed", "seed": int.from_bytes(hashlib.sha256(self.seed + b"student").digest()[:6])})
        for source, number in self.done:
            self.process.run(source, number)
        self.seconds["start"] += time.monotonic() - begun
        return self.process

    def _run_student(self, cell: NotebookNode) -> None:
        self.number += 1
        cell.execution_count = self.number
        begun = time.monotonic()
        try:
            process = self._student()
            begun = time.monotonic()
            outputs, _ = process.run(cell.source, self.number)
        except (CellTimeoutError, StudentProcessDied) as problem:
            outputs = [_error(problem)]
            texts = cell.source, self.solutions.get(intake.grade_id(cell), "")  # as it is, and as it should be
            self.lost |= {name: problem for name in self.asked if any(intake.defines(text, name) for text in texts)}
        else:
            self.done.append((cell.source, self.number))
        self.seconds["cells"] += time.monotonic() - begun
        self.shown += sum(map(_length, outputs))
        if self.shown > MOST_SHOWN:
            outputs = [{"output_type": "stream", "name": "stdout", "text": "(left out: this notebook shows too much)\n"}]
        cell.outputs = [NotebookNode(output) for output in outputs]

    def _run_test(self, cell: NotebookNode) -> None:
        name = cell.metadata.nbgrader["grade_id"]
        self.number += 1
        cell.execution_count = self.number
        if name in self.keep:
            kept = nbformat.from_dict(self.keep[name])
            cell.outputs, cell.metadata["manyheads"] = kept.outputs, kept.metadata.get("manyheads", {})
            return
        begun = time.monotonic()
        drawn = int.from_bytes(hashlib.sha256(self.seed + name.encode()).digest()[:6])
        torch.manual_seed(drawn)
        random.seed(drawn)
        np.random.seed(drawn % 2**32)
        used = time.process_time()
        try:
            with _seconds_of_processor(max(1.0, min(SECONDS_TO_JUDGE, SECONDS_TO_JUDGE_ALL - self.judged))):
                self._bind(cell.source)
                outputs, raised = self.shell.run(cell.source, self.number)
        except (CellTimeoutError, StudentProcessDied) as problem:
            outputs, raised = [_error(problem)], problem
        self.judged += time.process_time() - used
        self.mistakes[name] = getattr(raised, "mistake", None)
        cell.outputs = [NotebookNode(output) for output in _of_test(outputs, raised, self.number)]
        self.seconds["tests"] += time.monotonic() - begun

    def _bind(self, source: str) -> None:
        """Bring the names that a test cell uses from the student process into the examiner's."""
        for name in sorted(_used(source) & self.asked):
            self.shell.user_ns.pop(name, None)
            process = self._student()
            try:
                self.shell.user_ns[name] = process.ask({"do": "name", "name": name})
            except NameError:
                if name in self.lost:
                    raise self.lost[name] from None
                # Otherwise the test cell itself will say so.
            except TypeError as problem:  # a value that cannot be handed over
                self.shell.user_ns[name] = Remote(process, -1)
                self.notes.append(f"{name}: {problem}")


@contextlib.contextmanager
def _seconds_of_processor(seconds: float) -> Iterator[None]:
    """Raise CellTimeoutError inside of the block once this process has computed that long; waiting does not count."""

    def stop(*_) -> None:
        raise CellTimeoutError("what your code gave takes too long to look at.")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _limit_memory() -> None:
    """Rather an error here than a machine without memory. No student process is forked from this one."""
    if sys.platform != "linux":
        return
    import resource

    most = sandbox.mapped_bytes() + MOST_MEMORY_MB * 2**20
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _question(held: dict, got: float, most: float) -> Question:
    """A question by the verdict that its test cell holds."""
    status = held.get("status")
    return Question(status if status in _NO_ANSWER else GRADED, held.get("message", ""), held.get("mistake"), got, most)


def _length(output: dict) -> int:
    return len(output.get("text", "")) + sum(map(len, output.get("data", {}).values())) + sum(map(len, output.get("traceback", ())))


def _error(problem: BaseException) -> dict:
    return {"output_type": "error", "ename": type(problem).__name__, "evalue": str(problem), "traceback": []}


def _of_test(outputs: list[dict], raised: BaseException | None, number: int) -> list[dict]:
    """A test cell's outputs as nbgrader should see them: an error decides, stderr does not, tracebacks stay short."""
    kept = []
    for output in outputs:
        if output["output_type"] == "stream":
            output = {**output, "name": "stdout"}
        elif output["output_type"] == "error":
            at = getattr(raised, "student_frame", None)
            lines = [f"Cell In[{number}]"] + ([f"  Cell In[{at[0]}], line {at[1]} in {at[2]}"] if at else [])
            output = {**output, "traceback": [*lines, f"{output['ename']}: {output['evalue']}"]}
        kept.append(output)
    if raised is not None and not any(output["output_type"] == "error" for output in kept):
        kept.append(_error(raised))
    return kept


def _used(source: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
