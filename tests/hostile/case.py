"""What one case of the bank is: a hand-in, the points that it deserves, and what the grader may say of it."""

import copy
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from tiny_course import LESSON

from .lesson import QUESTIONS, RIGHT, WRONG, fill

NAME = f"{LESSON}.ipynb"
NOTHING = dict.fromkeys(QUESTIONS, 0.0)

# What the grader may call a question.
GRADED, CRASHED, TIMED_OUT, NOT_ATTEMPTED = "graded", "crashed", "timed out", "not attempted"
ANY = (GRADED, CRASHED, TIMED_OUT, NOT_ATTEMPTED)
ALL_ANY = dict.fromkeys(QUESTIONS, ANY)

# Path in the hand-in folder -> the bytes of a file, or what makes something odder at that path.
Files = dict[str, bytes | Callable[[Path], object]]


@dataclass(frozen=True)
class World:
    """What an attacker may know of the machine: the worst case, every path."""

    root: Path  # the course
    home: Path
    port: int  # of a server on this machine
    token: str  # of this run

    def told(self, text: str) -> str:
        """Put the paths into the text of a case."""
        for mark, value in (("@ROOT@", self.root), ("@HOME@", self.home), ("@PORT@", self.port), ("@TOKEN@", self.token)):
            text = text.replace(mark, str(value))
        return text


@dataclass(frozen=True)
class Case:
    """One hand-in. ``make`` gets the released notebook, a copy of its own, and returns the files of the folder."""

    name: str
    kind: str
    make: Callable[[NotebookNode, World], Files]
    points: dict[str, float] | None = field(default_factory=lambda: dict(QUESTIONS))  # None: no grade at all
    says: dict[str, tuple[str, ...]] = field(default_factory=dict)  # question -> statuses; else "graded"
    status: tuple[str, ...] = ("graded",)
    covers: tuple[str, ...] = ()  # field reports, and rows of the design's table of stock nbgrader
    stock: bool = True  # whether stock nbgrader can be tried on it without harm to the machine

    @property
    def student(self) -> str:
        return f"{self.kind}-{self.name}"

    def write(self, folder: Path, released: NotebookNode, world: World) -> None:
        """Put the hand-in at a folder."""
        for name, content in self.make(copy.deepcopy(released), world).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content) if isinstance(content, bytes) else content(path)


class Bank(list):
    """The cases of one kind, and short ways to write one down."""

    def __init__(self, kind: str, answers: dict[str, str] = RIGHT):
        super().__init__()
        self.kind, self.answers = kind, answers

    def add(self, name: str, make: Callable, **facts: object) -> None:
        self.append(Case(name, self.kind, make, **_facts(facts)))

    def cells(self, name: str, *, own: str = "", last: str = "", before: str = "double",
              answers: dict[str, str] | None = None, files: dict[str, bytes] | None = None,
              lost: tuple[str, ...] | str = (), **facts: object) -> None:
        """A notebook with the bank's answers, but ``answers``; ``own`` is a cell of the student's above the cell
        ``before``, ``last`` one at the end. ``lost`` names the questions that deserve no points, as "double split"."""
        given = {**self.answers, **(answers or {})}

        def make(nb: NotebookNode, world: World) -> Files:
            fill(nb, {key: world.told(text.strip("\n")) for key, text in given.items()})
            if own:
                place = next(place for place, cell in enumerate(nb.cells) if name_of(cell) == before)
                nb.cells.insert(place, own_cell(world.told(own)))
            if last:
                nb.cells.append(own_cell(world.told(last)))
            return {NAME: as_bytes(nb), **(files or {})}

        if "points" not in facts:
            missing = lost.split() if isinstance(lost, str) else lost
            wrong = self.answers is WRONG
            facts["points"] = {question: 0.0 if wrong or question.removeprefix("test_") in missing else worth
                               for question, worth in QUESTIONS.items()}
        self.add(name, make, **facts)

    def notebook(self, name: str, change: Callable[[NotebookNode], object], **facts: object) -> None:
        """The bank's answers in a notebook that ``change`` then spoils (in place, or by returning another)."""

        def make(nb: NotebookNode, world: World) -> Files:
            fill(nb, self.answers)
            changed = change(nb)
            return {NAME: as_bytes(nb if changed is None else changed)}

        self.add(name, make, **facts)

    def data(self, name: str, change: Callable[[bytes], bytes], **facts: object) -> None:
        """The bytes of a notebook with the bank's answers, changed."""
        self.add(name, lambda nb, world: {NAME: change(as_bytes(fill(nb, self.answers)))}, **facts)


def _facts(facts: dict) -> dict:
    if isinstance(covers := facts.get("covers", ()), str):
        facts["covers"] = tuple(part.strip() for part in covers.split(","))
    if isinstance(status := facts.get("status", ("graded",)), str):
        facts["status"] = (status,)
    facts["says"] = {question if question.startswith("test_") else f"test_{question}":
                     (status,) if isinstance(status, str) else tuple(status)
                     for question, status in facts.get("says", {}).items()}
    return facts


def but(**changed: float | None) -> dict[str, float | None]:
    """All points but these."""
    return QUESTIONS | {f"test_{question}": points for question, points in changed.items()}


def name_of(cell: NotebookNode) -> str | None:
    """Its grade id."""
    return cell.metadata.get("nbgrader", {}).get("grade_id")


def find(nb: NotebookNode, name: str) -> NotebookNode:
    return next(cell for cell in nb.cells if name_of(cell) == name)


def own_cell(source: str) -> NotebookNode:
    return nbformat.v4.new_code_cell(source.strip("\n"))


def as_bytes(nb: dict) -> bytes:
    """As JSON, whatever is in it: no validation."""
    return json.dumps(nb, indent=1).encode()


def link(target: str | Path) -> Callable[[Path], object]:
    return lambda path: path.symlink_to(target)


def fifo(path: Path) -> None:
    os.mkfifo(path)
