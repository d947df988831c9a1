"""Copies of the class gradebook, and the way back."""

import os
import re
import shutil
import sqlite3
import time
from contextlib import closing
from datetime import datetime
from pathlib import Path

MOST = 20  # copies that are kept
FOLDER = "gradebook-backups"

_NAME = re.compile(r"gradebook-\d{8}-\d{6}-\d{6}\.db")
_SECONDS_TO_WAIT = 30  # for another program that holds the gradebook


class Lost(OSError):
    """A gradebook that cannot be copied or put back; in one line, with what to do."""


def back_up(database: Path, folder: Path, most: int = MOST) -> Path:
    """Copy a gradebook into `folder`, in use or not; return the copy. The oldest copies beyond `most` are removed.

    A copy that was broken off leaves nothing that could be taken for one. Raises Lost if the gradebook is damaged.
    """
    copy = _new_name(folder)
    try:
        _copy_into_new(database, copy)
    except sqlite3.OperationalError as error:
        raise Lost(f"{database} cannot be copied ({error}): {_way(error, folder)}, then try again") from error
    except sqlite3.DatabaseError as error:
        raise Lost(f"{database} is damaged ({error}): put an earlier copy back with "
                   "`manyheads grade --restore latest`") from error
    for old in backups(folder)[:-most]:
        old.unlink()
    return copy


def backups(folder: Path) -> list[Path]:
    """The copies in a folder, oldest first."""
    return sorted(path for path in folder.glob("gradebook-*.db") if _NAME.fullmatch(path.name))


def restore(database: Path, folder: Path, wanted: str = "latest") -> tuple[Path, Path | None]:
    """Put a copy back in the place of the gradebook; return that copy, and the one made of what it replaces.

    `wanted` is "latest", the name of a copy in `folder`, or a path. What was there becomes the newest copy, so that
    "latest" once more takes the step back again. The gradebook is at every moment the old one or the new one, also for
    programs that have it open. Raises Lost if there is no such copy, or it is no whole gradebook.
    """
    copy = _find(folder, wanted)
    if database.is_file() and copy.samefile(database):
        raise Lost(f"{copy} is the gradebook itself: name one of its copies in {folder}")
    _check(copy)
    if not database.is_file():
        _copy_into_new(copy, database)
        return copy, None
    kept = _new_name(folder)
    try:
        _copy_into_new(database, kept)
        with closing(_open(copy)) as old, closing(_open(database)) as new:
            _copy(old, new)
    except sqlite3.OperationalError as error:
        raise Lost(f"{database} cannot be replaced ({error}): {_way(error, folder)}, then try again") from error
    except sqlite3.DatabaseError:  # what lies there is no database: nobody can be using it
        shutil.copy(database, kept.with_suffix(".damaged"))
        _copy_into_new(copy, database)
        for left in ("-journal", "-wal", "-shm"):
            database.with_name(database.name + left).unlink(missing_ok=True)
        return copy, kept.with_suffix(".damaged")
    return copy, kept


def _way(error: sqlite3.OperationalError, folder: Path) -> str:
    if "full" in str(error):
        return "make room on the disk"
    if "locked" in str(error):
        return "end the programs that use it"
    return f"see that you may write it and {folder}"


def _new_name(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder / f"gradebook-{datetime.now():%Y%m%d-%H%M%S-%f}.db"


def _find(folder: Path, wanted: str) -> Path:
    there = backups(folder)
    if wanted == "latest":
        if not there:
            raise Lost(f"there are no copies of the gradebook in {folder}")
        return there[-1]
    for path in (folder / wanted, Path(wanted)):
        if path.is_file():
            return path
    names = ", ".join(path.name for path in there[-5:]) or "none"
    raise Lost(f"there is no copy {wanted}; the newest ones in {folder}: {names}")


def _check(copy: Path) -> None:
    try:
        with closing(_open(copy)) as held:
            whole = held.execute("PRAGMA quick_check").fetchone() == ("ok",)
            known = held.execute("SELECT 1 FROM sqlite_master WHERE name = 'submitted_assignment'").fetchone()
    except sqlite3.DatabaseError:
        whole = known = None
    if not (whole and known):
        raise Lost(f"{copy} is no whole gradebook: take another copy")


def _copy_into_new(database: Path, copy: Path) -> None:
    unfinished = copy.with_name(f".{copy.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    try:
        with closing(_open(database)) as old, closing(_open(unfinished)) as new:
            _copy(old, new)
        os.replace(unfinished, copy)
    finally:
        unfinished.unlink(missing_ok=True)


def _copy(old: sqlite3.Connection, new: sqlite3.Connection) -> None:
    """Copy a whole database, in one transaction of sqlite's own."""
    until = time.monotonic() + _SECONDS_TO_WAIT

    def waiting(status: int, remaining: int, total: int) -> None:  # left alone, it would wait for ever
        if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) and time.monotonic() > until:
            raise sqlite3.OperationalError("database is locked")

    old.backup(new, progress=waiting)


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=_SECONDS_TO_WAIT)
