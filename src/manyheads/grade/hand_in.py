"""The files of a hand-in: which notebook is graded, and what else student code may read.

:func:`find_notebook` takes the lesson's notebook out of a hand-in folder, :func:`other_files` all plain files but
notebooks. Links are never followed, and a folder of any size or depth costs a bounded look. What is in the notebook is
for :mod:`.intake`.
"""

import os
import stat
import sys
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from pathlib import Path

from nbformat import NotebookNode

from .intake import MOST_BYTES, Unreadable, likeness_to, parse, shown

MOST_FILE_BYTES = 10 * 2**20  # of all other files together
MOST_FILES = 1_000
MOST_ENTRIES = 5_000  # that are looked at in a folder
_LEFT_OUT = {".ipynb_checkpoints", "__pycache__", ".git", ".DS_Store", "timestamp.txt"}
_DEEPEST_FOLDER = 8
_MOST_NOTEBOOKS = 20  # that are read to find the right one


class Missing(Exception):
    """A hand-in folder without a notebook, in one line."""


@dataclass
class Found:
    """What a hand-in folder holds: the notebook's bytes, its name in the folder, other files, what was noticed."""

    data: bytes
    name: str
    files: dict[str, bytes] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def find_notebook(folder: Path, lesson: str, source: NotebookNode) -> Found:
    """The notebook in a hand-in folder: the one with the lesson's name, or else the one that is most like it.

    Raises Missing if there is none, and Unreadable if it cannot be opened. Links are never followed, and nothing but
    plain files is opened.
    """
    _look_at(folder)
    seen = _Walk(folder)
    if "." in seen.closed:
        raise Unreadable("the hand-in folder cannot be opened: see to its permissions")
    proper = f"{lesson}.ipynb"
    is_proper = _is_plain(folder / proper)
    others = [name for name in seen.notebooks if name != proper][:_MOST_NOTEBOOKS]
    if is_proper and not others:
        return Found(_read(folder, proper, MOST_BYTES), proper, *_with_notes(seen))
    likeness = likeness_to(source)
    alike: dict[str, tuple[int, bytes]] = {}
    problem = None
    for name in ([proper] if is_proper else []) + others:
        try:
            data = _read(folder, name, MOST_BYTES)
            alike[name] = (likeness(parse(data)), data)
        except Unreadable as reason:
            problem = problem or reason
    best = max(alike, key=lambda name: (alike[name][0] > 0, name == proper, alike[name][0]), default=None)
    if best is None or (alike[best][0] == 0 and best != proper):
        if problem is not None:
            raise problem
        if proper in seen.links:
            raise Unreadable(f"{proper} is a symbolic link, which is not followed: hand in the file itself")
        if os.path.lexists(folder / proper):
            raise Unreadable(f"{proper} is no plain file: hand in the notebook itself")
        held = f" ({shown(others)}: none of the lesson's questions in it)" if others else ""
        if not others and seen.others:
            held = f" (there is {shown(name for name, _ in sorted(seen.others))})"
        raise Missing(f"no notebook {proper} was handed in{held}")
    files, notes = _with_notes(seen)
    if best != proper:
        why = f" ({proper} cannot be used: {problem})" if is_proper and problem else ""
        notes.append(f"{shown([best])} was taken for {proper}: it holds {alike[best][0]} cells of the lesson{why}.")
    elif alike[best][0] == 0:
        notes.append(f"{proper} holds none of the lesson's questions: is it the notebook of another lesson?")
    if len(alike) > 1:
        rest = shown(name for name in alike if name != best)
        notes.append(f"Several notebooks were handed in: {shown([best])} was graded, {rest} not.")
    return Found(alike[best][1], best, files, notes)


def other_files(folder: Path) -> dict[str, bytes]:
    """The plain files of a folder but notebooks, by their path in it: what student code may read."""
    return _Walk(folder).files()[0]


def _with_notes(seen: "_Walk") -> tuple[dict[str, bytes], list[str]]:
    files, notes = seen.files()
    return files, seen.notes() + notes


def _look_at(folder: Path) -> None:
    try:
        mode = os.lstat(folder).st_mode
    except FileNotFoundError:
        raise Missing("nothing was handed in: there is no such folder") from None
    except OSError as problem:
        raise Unreadable(f"the folder cannot be opened ({problem.strerror})") from None
    if stat.S_ISLNK(mode):
        raise Unreadable("the hand-in folder is a symbolic link, which is not followed: put the files there themselves")
    if not stat.S_ISDIR(mode):
        raise Unreadable("where the hand-in folder should be there is a file")


def _is_plain(path: Path) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _read(folder: Path, name: str, most: int) -> bytes:
    """A plain file of at most so many bytes. Raises Unreadable."""
    try:
        # Not blocking: what was a file a moment ago may be a pipe now.
        descriptor = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode):
                raise Unreadable(f"{shown([name])} is no plain file")
            if facts.st_size > most:
                size = facts.st_size / 2**20
                raise Unreadable(f"{shown([name])} has {size:.0f} MB; at most {most // 2**20} MB are read")
            return file.read(most)
    except OSError as problem:
        raise Unreadable(f"{shown([name])} cannot be opened ({problem.strerror})") from None


class _Walk:
    """A bounded look into a folder, the upper levels first, without opening anything."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.notebooks: list[str] = []
        self.others: list[tuple[str, int]] = []  # name, size
        self.links: list[str] = []
        self.special: list[str] = []
        self.closed: list[str] = []
        self.cut = False
        left, level = MOST_ENTRIES, [""]
        for _ in range(_DEEPEST_FOLDER):
            below = []
            for inside in level:
                left = self._look_into(inside, left, below)
            level = sorted(below)
        self.cut = self.cut or bool(level)
        self.notebooks.sort(key=lambda name: (name.count("/"), name))

    def _look_into(self, inside: str, left: int, below: list[str]) -> int:
        try:
            with os.scandir(self.folder / inside) as entries:
                for entry in entries:
                    if left <= 0:
                        self.cut = True
                        break
                    left -= 1
                    if entry.name not in _LEFT_OUT:
                        self._sort_in(f"{inside}/{entry.name}".lstrip("/"), entry.stat(follow_symlinks=False), below)
        except OSError:
            self.closed.append(inside or ".")
        return left

    def _sort_in(self, name: str, facts: os.stat_result, below: list[str]) -> None:
        if stat.S_ISLNK(facts.st_mode):
            self.links.append(name)
        elif stat.S_ISDIR(facts.st_mode):
            below.append(name)
        elif not stat.S_ISREG(facts.st_mode):
            self.special.append(name)
        elif name.lower().endswith(".ipynb"):
            self.notebooks.append(name)
        else:
            self.others.append((name, facts.st_size))

    def files(self) -> tuple[dict[str, bytes], list[str]]:
        """The other files, and what is said of those that are left out."""
        held: dict[str, bytes] = {}
        left, shadows, strange, large, closed = MOST_FILE_BYTES, [], [], [], []
        for name, size in sorted(self.others):
            if not name.isprintable() or not _is_text(name):
                strange.append(name)
            elif _hides_a_module(name):
                shadows.append(name)
            elif size > left or len(held) >= MOST_FILES:
                large.append(name)
            else:
                try:
                    held[name] = _read(self.folder, name, left)
                    left -= len(held[name])
                except Unreadable:
                    closed.append(name)
        said = ((shadows, "would hide a Python module of the same name"),
                (strange, "names that cannot be kept"),
                (large, f"more than {MOST_FILES} files or {MOST_FILE_BYTES // 2**20} MB in all"),
                (closed, "cannot be read"))
        return held, [f"Left out: {shown(names)} ({why})." for names, why in said if names]

    def notes(self) -> list[str]:
        said = ((self.links, "symbolic links, which are not followed"), (self.special, "no plain files"),
                (self.closed, "folders that cannot be opened"))
        notes = [f"Left out: {shown(names)} ({why})." for names, why in said if names]
        if self.cut:
            notes.append(f"Only {MOST_ENTRIES} entries of the folder were looked at, {_DEEPEST_FOLDER} levels deep.")
        return notes


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _hides_a_module(name: str) -> bool:
    """Whether a student's file would be imported in place of a module that is installed."""
    top, _, rest = name.partition("/")
    if not (rest == "__init__.py" or (not rest and top.endswith((".py", ".so", ".pyd")))):
        return False  # of a folder without __init__.py only those modules can be imported that nobody else has
    module = top.split(".")[0]
    if module in sys.stdlib_module_names or module == "manyheads":
        return True
    installed = [place for place in sys.path if place.endswith(("site-packages", "dist-packages"))]
    return module.isidentifier() and PathFinder.find_spec(module, installed) is not None
