"""A copied cell: the last copy is graded, the student is told, and nobody else notices."""

import copy

import nbformat
import pytest
from small_class import LESSON, RIGHT, points_of, released, small_course

from manyheads.grade.intake import grade_id, resolve_duplicates

FULL = {"test_double_values": 2, "test_double_kinds": 2, "test_answer": 1, "written": None}


def with_copies(nb, name, copies=1, below=True):
    """Copy and paste: the copies come below or above the cell, with ids of their own."""
    place = next(place for place, cell in enumerate(nb.cells) if grade_id(cell) == name)
    for number in range(copies):
        twin = copy.deepcopy(nb.cells[place + number])
        twin["id"] = f"pasted-{number}"
        nb.cells.insert(place + number + below, twin)
    return nb


def graded_ids(nb):
    return [grade_id(cell) for cell in nb.cells if grade_id(cell)]


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return small_course(tmp_path_factory.mktemp("course"))


@pytest.mark.parametrize("name", ["test_double_values", "double", "setup", "written"])
@pytest.mark.parametrize("copies", [1, 2])
def test_one_copy_of_each_grade_id_is_left(course, name, copies):
    nb = released(course, **RIGHT)
    whole = graded_ids(nb)
    repaired = resolve_duplicates(with_copies(nb, name, copies))
    assert graded_ids(nb) == whole
    assert len(repaired) == 1 and repr(name) in repaired[0]
    assert "nbgrader" not in [key for cell in nb.cells if not grade_id(cell) for key in cell.metadata]
    nbformat.validate(nb)


def test_the_last_copy_keeps_its_name(course):
    nb = with_copies(released(course, **RIGHT), "double", copies=2)
    places = [place for place, cell in enumerate(nb.cells) if grade_id(cell) == "double"]
    for place, text in zip(places, ["first = 1", "second = 2", "third = 3"], strict=True):
        nb.cells[place].source = text
    resolve_duplicates(nb)
    assert [cell.source for cell in nb.cells if grade_id(cell) == "double"] == ["third = 3"]
    assert [cell.source for cell in nb.cells if cell.source.endswith(("= 1", "= 2"))] == ["first = 1", "second = 2"]


def test_each_copy_that_does_not_count_has_a_note_above_it(course):
    nb = with_copies(released(course, **RIGHT), "double", copies=2)
    resolve_duplicates(nb)
    notes = [place for place, cell in enumerate(nb.cells) if cell.source.startswith("**A copied cell.**")]
    assert len(notes) == 2
    assert all("3 times" in nb.cells[place].source and nb.cells[place + 1].source == RIGHT["double"] for place in notes)


def test_a_notebook_without_copies_stays_as_it_was(course):
    nb = released(course, **RIGHT)
    before = copy.deepcopy(nb)
    assert resolve_duplicates(nb) == []
    assert nb == before


@pytest.mark.parametrize("nothing", [{}, {"grade_id": ""}, [], "text"])
def test_metadata_without_a_name_is_dropped(course, nothing):
    nb = released(course, **RIGHT)
    nb.cells.append(nbformat.v4.new_code_cell("1", metadata={"nbgrader": nothing}))
    resolve_duplicates(nb)
    assert "nbgrader" not in nb.cells[-1].metadata


def test_an_older_notebook_format_stays_valid(course):
    nb = with_copies(released(course, **RIGHT), "double")
    nb.nbformat_minor = 4
    for cell in nb.cells:
        del cell["id"]
    resolve_duplicates(nb)
    nbformat.validate(nb)


@pytest.mark.slow
def test_a_class_with_copied_cells_is_graded(course):
    """One run over the class, as `nbgrader autograde` makes it, the copied cells sorted first."""
    class_ = {
        "a-copied-test": with_copies(released(course, **RIGHT), "test_double_values"),
        "b-copied-solution": with_copies(released(course, **RIGHT), "double", below=False),
        "c-three-copies": with_copies(released(course, **RIGHT), "test_answer", copies=3),
        "d-ordinary": released(course, **RIGHT),
        "e-blank": released(course),
    }
    class_["a-copied-test"].metadata["manyheads"] = {"repaired": ["a sentence of the student's"]}
    for student, nb in class_.items():
        course.hand_in(LESSON, student, nb)
    result = course.api.autograde(LESSON, "*", force=True)
    assert result["success"], result
    for student in class_:
        expected = FULL if student != "e-blank" else dict.fromkeys(FULL, 0)
        assert points_of(course, student) == expected, student
    assert "a-copied-test, small: The cell 'test_double_values' was there twice" in result["log"]
    page = course.feedback(LESSON, "a-copied-test").read_text(encoding="utf-8")
    assert "Repaired when it was graded." in page and "A copied cell." in page
    assert "a sentence of the student" not in page
    assert "A copied cell." not in course.feedback(LESSON, "d-ordinary").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_correct_function_that_warns_gets_its_points(course):
    warns = "import warnings\n\ndef double(x):\n    warnings.warn('slow')\n    return x + x"
    course.hand_in(LESSON, "warns", released(course, **{**RIGHT, "double": warns}))
    course.autograde(LESSON, "warns")
    assert points_of(course, "warns") == FULL
