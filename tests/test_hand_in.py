"""The files of a hand-in: the right notebook is found, no link is followed, and no folder is too much."""

import json
import os

import nbformat
import pytest
from small_class import LESSON, RIGHT, released, small_course

from manyheads.grade.hand_in import Missing, find_notebook, other_files
from manyheads.grade.intake import Unreadable


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return small_course(tmp_path_factory.mktemp("course"))


@pytest.fixture
def hand_in(course, tmp_path):
    """Makes a hand-in folder with files in it, and looks for the notebook of the small lesson."""
    folder = tmp_path / "hand-in"

    def find(files=None):
        for name, data in (files or {}).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        return find_notebook(folder, LESSON, nbformat.read(course.course.notebook("source", LESSON), as_version=4))

    find.folder = folder
    find.whole = nbformat.writes(released(course, **RIGHT)).encode()
    find.other = json.dumps(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("Something else")])).encode()
    return find


def test_the_notebook_and_plain_files_are_found(hand_in):
    found = hand_in({"small.ipynb": hand_in.whole, "data/words.txt": b"word", "helper.py": b"", "timestamp.txt": b"now",
                     ".ipynb_checkpoints/small-checkpoint.ipynb": hand_in.whole})
    assert (found.name, found.data, found.notes) == ("small.ipynb", hand_in.whole, [])
    assert found.files == {"data/words.txt": b"word", "helper.py": b""}
    assert other_files(hand_in.folder) == found.files


@pytest.mark.parametrize("name", ["small (1).ipynb", "Small.IPYNB", "in a folder/final.ipynb", "two\nlines.ipynb"])
def test_a_renamed_notebook_is_found_by_its_content(hand_in, name):
    found = hand_in({name: hand_in.whole, "notes.ipynb": hand_in.other})
    assert (found.name, found.data) == (name, hand_in.whole)
    assert "was taken for small.ipynb" in found.notes[0] and "notes.ipynb" in found.notes[1]
    assert not any("\n" in note for note in found.notes)


def test_the_proper_name_wins_if_it_holds_the_lesson(hand_in):
    assert hand_in({"small.ipynb": hand_in.whole, "a.ipynb": hand_in.whole}).name == "small.ipynb"
    found = hand_in({"small.ipynb": b"broken"})
    assert found.name == "a.ipynb" and "not JSON" in found.notes[0]
    found = hand_in({"small.ipynb": hand_in.other})
    assert found.name == "a.ipynb"


def test_nothing_that_fits_is_missing(hand_in):
    with pytest.raises(Missing, match="no such folder"):
        hand_in()
    with pytest.raises(Missing, match="no notebook small.ipynb was handed in .there is small.zip"):
        hand_in({"small.zip": b""})
    with pytest.raises(Missing, match="other.ipynb: none of the lesson's questions"):
        hand_in({"other.ipynb": hand_in.other})


def test_links_and_special_files_are_never_opened(hand_in):
    hand_in.folder.mkdir()
    elsewhere = hand_in.folder.parent / "elsewhere"
    elsewhere.write_bytes(hand_in.whole)
    (hand_in.folder / "small.ipynb").symlink_to(elsewhere)
    (hand_in.folder / "secret.txt").symlink_to(elsewhere)
    os.mkfifo(hand_in.folder / "pipe.txt")
    with pytest.raises(Unreadable, match="small.ipynb is a symbolic link"):
        hand_in()
    (hand_in.folder / "small.ipynb").unlink()
    os.mkfifo(hand_in.folder / "small.ipynb")
    with pytest.raises(Unreadable, match="small.ipynb is no plain file"):
        hand_in()
    (hand_in.folder / "small.ipynb").unlink()
    found = hand_in({"small.ipynb": hand_in.whole})
    assert found.files == {}
    assert any("secret.txt" in note for note in found.notes) and any("pipe.txt" in note for note in found.notes)


def test_a_folder_that_is_a_link_or_a_file_is_refused(hand_in, tmp_path):
    (tmp_path / "real").mkdir()
    hand_in.folder.symlink_to(tmp_path / "real")
    with pytest.raises(Unreadable, match="symbolic link"):
        hand_in()
    hand_in.folder.unlink()
    hand_in.folder.write_bytes(b"")
    with pytest.raises(Unreadable, match="file"):
        hand_in()


def test_files_that_would_hide_a_module_are_left_out(hand_in):
    found = hand_in({"small.ipynb": hand_in.whole, "torch.py": b"", "random.py": b"", "numpy/__init__.py": b"",
                     "mine.py": b"",
                     "random/data.csv": b""})
    assert set(found.files) == {"mine.py", "random/data.csv"}
    assert "numpy/__init__.py, random.py, torch.py" in found.notes[0]


def test_large_deep_wide_and_oddly_named_folders_are_bounded(hand_in):
    hand_in({"/".join("x" * 60) + "/deep.txt": b"deep", "large.bin": bytes(10 * 2**20 + 1),
             "small.ipynb": hand_in.whole})
    for number in range(6000):
        (hand_in.folder / f"file-{number}").touch()
    with open(os.fsencode(hand_in.folder) + b"/\xff.txt", "wb"):
        pass
    found = hand_in()
    assert found.data == hand_in.whole and len(found.files) <= 1000
    assert "large.bin" not in found.files and all(name.isprintable() for name in found.files)
    assert any("looked at" in note for note in found.notes)
    assert all(note.encode() for note in found.notes)


def test_a_file_that_is_too_large_is_refused_before_it_is_read(hand_in):
    hand_in.folder.mkdir()
    with open(hand_in.folder / "small.ipynb", "wb") as file:
        file.truncate(65 * 2**20)
    with pytest.raises(Unreadable, match="65 MB"):
        hand_in()


def test_a_file_without_permission_is_unreadable(hand_in, monkeypatch):
    hand_in({"small.ipynb": hand_in.whole})

    def refuse(*arguments):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)  # root may read everything
    with pytest.raises(Unreadable, match="small.ipynb cannot be opened .Permission denied"):
        hand_in()
