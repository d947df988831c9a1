"""Copies of the gradebook are whole, few, and can be put back."""

import sqlite3
import threading
from contextlib import closing

import pytest

from manyheads.course import backups
from manyheads.course.backups import Lost, back_up, restore


def write(database, word):
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS submitted_assignment (word TEXT)")
        connection.execute("DELETE FROM submitted_assignment")
        connection.execute("INSERT INTO submitted_assignment VALUES (?)", [word])
        connection.commit()


def read(database):
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute("SELECT word FROM submitted_assignment").fetchone()[0]


@pytest.fixture
def place(tmp_path):
    write(tmp_path / "gradebook.db", "first")
    return tmp_path / "gradebook.db", tmp_path / "gradebook-backups"


def test_a_copy_is_put_back_and_what_it_replaces_is_kept(place):
    database, folder = place
    first = back_up(database, folder)
    write(database, "second")
    copy, kept = restore(database, folder)
    assert copy == first and read(database) == "first" and read(kept) == "second"
    restore(database, folder)  # the newest copy is now what was replaced: the step is taken back
    assert read(database) == "second"
    restore(database, folder, first.name)
    assert read(database) == "first"
    restore(database, folder, str(kept))
    assert read(database) == "second"


def test_a_program_that_has_the_gradebook_open_sees_the_copy(place):
    database, folder = place
    with closing(sqlite3.connect(database)) as open_already:
        assert open_already.execute("SELECT word FROM submitted_assignment").fetchone() == ("first",)
        back_up(database, folder)
        write(database, "second")
        restore(database, folder, "latest")
        assert open_already.execute("SELECT word FROM submitted_assignment").fetchone() == ("first",)


def test_a_gradebook_in_use_is_waited_for_but_not_for_ever(place, monkeypatch):
    database, folder = place
    back_up(database, folder)
    write(database, "second")
    monkeypatch.setattr(backups, "_SECONDS_TO_WAIT", 0.2)
    with closing(sqlite3.connect(database, check_same_thread=False)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(Lost, match="end the programs that use it"):
            restore(database, folder)
        with pytest.raises(Lost, match="end the programs that use it"):
            back_up(database, folder)
        monkeypatch.setattr(backups, "_SECONDS_TO_WAIT", 30)
        threading.Timer(0.3, other.rollback).start()
        restore(database, folder)
    assert read(database) == "first" and not list(folder.glob(".*"))


def test_only_the_last_copies_are_kept(place):
    database, folder = place
    made = [back_up(database, folder, most=3) for _ in range(5)]
    (folder / "gradebook-mine.db").write_bytes(b"not ours")
    assert back_up(database, folder, most=3) and backups.backups(folder)[:2] == made[-2:]
    assert len(list(folder.iterdir())) == 4


def test_what_to_do_fits_what_is_wrong(place, monkeypatch):
    database, folder = place
    for said, way in (("database or disk is full", "make room on the disk"),
                      ("database is locked", "end the programs that use it"),
                      ("unable to open database file", "see that you may write it and")):

        def fail(*_, said=said):
            raise sqlite3.OperationalError(said)

        monkeypatch.setattr(backups, "_copy", fail)
        with pytest.raises(Lost, match=f"{said}.*: {way}"):
            back_up(database, folder)


def test_a_damaged_gradebook_is_kept_aside_and_replaced(place):
    database, folder = place
    back_up(database, folder)
    database.write_bytes(b"this is no database" * 100)
    with pytest.raises(Lost, match="--restore latest"):
        back_up(database, folder)
    _, kept = restore(database, folder)
    assert read(database) == "first" and kept.read_bytes().startswith(b"this is no database")
    database.unlink()
    assert restore(database, folder)[1] is None
    assert read(database) == "first"


def test_what_cannot_be_put_back_is_said(place, tmp_path):
    database, folder = place
    with pytest.raises(Lost, match="there are no copies"):
        restore(database, folder)
    copy = back_up(database, folder)
    with pytest.raises(Lost, match=f"there is no copy other.db; the newest ones in .*: {copy.name}"):
        restore(database, folder, "other.db")
    with pytest.raises(Lost, match="is the gradebook itself"):
        restore(database, folder, str(database))
    (folder / "broken.db").write_bytes(copy.read_bytes()[:5000])
    with closing(sqlite3.connect(tmp_path / "empty.db")) as empty:
        empty.execute("CREATE TABLE other (word)")
    for wanted in ("broken.db", str(tmp_path / "empty.db")):
        with pytest.raises(Lost, match="is no whole gradebook"):
            restore(database, folder, wanted)
    assert read(database) == "first"
