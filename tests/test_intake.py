"""What is repaired or refused in a notebook: the student is told, the maximum is constant, and nobody else notices."""

import copy
import json

import nbformat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nbgrader.utils import determine_grade
from small_class import LESSON, RIGHT, points_of, released, small_course

from manyheads.grade.intake import Unreadable, grade_id, parse, rebuild, resolve_duplicates

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


# ---- reading --------------------------------------------------------------------------------------------------


def as_bytes(nb, **changes):
    return json.dumps({**nb, **changes}).encode()


WHOLE = as_bytes(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x = 1")]))


@pytest.mark.parametrize("data, reason", [
    (b"", "empty"),
    (b" \n\t", "empty"),
    (b'{"cells": "\xe9"}', "not UTF-8"),
    (b"import torch\n", "not JSON"),
    (WHOLE[:60], "cut off"),
    (WHOLE.replace(b'"cells"', b'\n<<<<<<< HEAD\n"cells"', 1), "merge conflict markers"),
    (b'{\n<<<<<<< HEAD\n"a": 1\n=======\n"a": 2\n>>>>>>> theirs\n}', "merge conflict markers"),
    (b"[1, 2]", "no notebook"),
    (b"null", "no notebook"),
    (b'{"a": 1}', "no cells"),
    (b'{"cells": {"a": 1}}', "no cells"),
    (b'{"cells": ' + b"[" * 101 + b"]" * 101 + b"}", "nested deeper than 100"),
    (b"[" * 500_000, "nested deeper than 100"),
    (b'{"a":' * 500_000, "nested deeper than 100"),
    (b'{"cells": [], "x": NaN}', "NaN"),
    (b'{"cells": [], "x": ' + b"9" * 5000 + b"}", "number"),
    (b"<!DOCTYPE html>\n<html></html>", "web page"),
    (b"PK\x03\x04rest", "zip"),
    (b'{"nbformat": 5, "cells": []}', "nbformat 5"),
    (b'{"nbformat": 3, "worksheets": [{"cells": [3, {}]}]}', "nbformat 3"),
    (b" " * (64 * 2**20) + WHOLE, "64 MB"),
    (b'{"cells": [' + b"{}," * 2_000 + b"{}]}", "2001 cells"),
], ids=lambda value: value if isinstance(value, str) else "")  # fmt: skip
def test_what_is_no_notebook_is_refused_in_one_line(data, reason):
    with pytest.raises(Unreadable, match=reason) as refused:
        parse(data)
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 150


@pytest.mark.parametrize("coding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_texts_with_a_byte_order_mark_are_read(course, coding):
    nb = released(course, **{**RIGHT, "written": "Ünï ∑ 🙂"})
    data = nbformat.writes(nb).encode(coding)
    assert [cell.source for cell in parse(data).cells] == [cell.source for cell in nb.cells]


@pytest.mark.parametrize("changes", [{"nbformat_minor": 9}, {"nbformat": "4"}, {"metadata": []},
                                     {"new_in_4_9": {"a": [1]}}])
def test_other_minor_versions_and_odd_headers_are_read(course, changes):
    nb = released(course, **RIGHT)
    assert [cell.source for cell in parse(as_bytes(nb, **changes)).cells] == [cell.source for cell in nb.cells]


@pytest.mark.parametrize("old", [
    {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": [
        {"cell_type": "code", "input": ["x = 1\n", "y = 2"], "language": "python", "outputs": [],
         "collapsed": False}]}]},
    {"nbformat": 2, "worksheets": [{"cells": [{"cell_type": "code", "input": "x = 1\ny = 2", "outputs": []}]}]},
    {"nbformat": 1, "cells": [{"cell_type": "code", "code": "x = 1\ny = 2"}]},
])  # fmt: skip
def test_old_formats_are_upgraded_the_same_each_time(old):
    nb = parse(json.dumps(old).encode())
    assert [(cell.cell_type, cell.source) for cell in nb.cells] == [("code", "x = 1\ny = 2")]
    assert nb == parse(json.dumps(old).encode())


def test_cells_with_parts_missing_or_of_wrong_types_are_read():
    raw = [
        3, None, {}, {"cell_type": "code"}, {"id": "x"},
        {"cell_type": "code", "source": ["a\n", 3, "b"], "outputs": 7, "metadata": []},
        {"cell_type": "chart", "source": "?", "id": "not valid"},
        {"cell_type": "markdown", "source": 7, "attachments": 4},
        {"cell_type": "code", "source": "half \ud800 a character", "id": "x", "metadata": {"nbgrader": [1]}},
    ]  # fmt: skip
    nb = parse(json.dumps({"cells": raw}).encode())
    assert [cell.source for cell in nb.cells] == ["", "", "", "a\nb", "?", "", "half ? a character"]
    nbformat.validate(nb)
    nbformat.writes(nb).encode()


def test_a_notebook_that_is_large_by_its_outputs_is_graded(course):
    nb = released(course, **RIGHT)
    nb.cells[1].outputs = [nbformat.v4.new_output("stream", text='"[{\\ ' * 100 * 2**10 * 80)]
    data = as_bytes(nb)
    assert len(data) > 50 * 2**20
    new, repaired = rebuild(parse(data), source_of(course))
    assert repaired == [] and len(as_bytes(new)) < 20_000


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300) | st.builds(lambda at, what, gone: WHOLE[:at] + what + WHOLE[at + gone:],
                                           st.integers(0, len(WHOLE)), st.binary(max_size=4), st.integers(0, 9)))
def test_bytes_are_read_or_refused_and_nothing_else(data):
    try:
        nbformat.validate(parse(data))
    except Unreadable as refused:
        assert "\n" not in str(refused)


# ---- rebuilding -----------------------------------------------------------------------------------------------


def source_of(course):
    return nbformat.read(course.course.notebook("source", LESSON), as_version=4)


def place_of(nb, name):
    return next(place for place, cell in enumerate(nb.cells) if grade_id(cell) == name)


def cell_of(nb, name):
    return nb.cells[place_of(nb, name)]


def order_of(nb, *names):
    return [name for cell in nb.cells if (name := grade_id(cell)) in names]


def own_cells(nb):
    return [cell for cell in nb.cells if not grade_id(cell) and cell.metadata.get("manyheads") == {"role": "student"}]


def graded(course, nb):
    """Rebuild, and look at what must hold of every result."""
    source, before = source_of(course), copy.deepcopy(nb)
    new, repaired = rebuild(nb, source)
    assert nb == before and source == source_of(course), "an argument was changed"
    nbformat.validate(new)
    named = {grade_id(cell): cell for cell in source.cells if grade_id(cell)}
    assert sorted(graded_ids(new)) == sorted(named)
    for name, right in named.items():
        cell = cell_of(new, name)
        marks = {key: value for key, value in cell.metadata.nbgrader.items() if key not in ("checksum", "cell_type")}
        assert (cell.cell_type, marks, cell.metadata.get("tags")) == (
            right.cell_type, right.metadata.nbgrader, right.metadata.get("tags"))
        if not right.metadata.nbgrader.solution:
            assert cell.source == right.source
    assert new.metadata == source.metadata
    for cell in new.cells:
        assert "nbgrader" not in cell.metadata or grade_id(cell)
        assert cell.get("outputs", []) == [] and cell.get("execution_count") is None
    for name in (name for name in graded_ids(new) if name.startswith("test_double")):
        assert place_of(new, "setup") < place_of(new, "double") < place_of(new, name)
    again, more = rebuild(new, source)
    assert (again, more) == (new, []), "not idempotent"
    return new, repaired


def test_an_honest_hand_in_needs_no_repair(course):
    nb = released(course, **RIGHT)
    nb.cells.insert(3, nbformat.v4.new_code_cell("double(3)", execution_count=7))
    nb.cells.append(nbformat.v4.new_markdown_cell("A note."))
    new, repaired = graded(course, nb)
    assert repaired == []
    assert [cell.source for cell in own_cells(new)] == ["double(3)", "A note."]
    assert {name: cell_of(new, name).source for name in RIGHT} == RIGHT


def test_an_answer_that_was_never_begun_needs_nobody_to_mark_it(course):
    nb = released(course)
    assert determine_grade(cell_of(graded(course, nb)[0], "written"))[0] == 0
    del nb.cells[place_of(nb, "written")]
    new, repaired = graded(course, nb)
    assert determine_grade(cell_of(new, "written"))[0] == 0
    assert repaired == ["The cell 'written' was missing: an empty one was put back."]
    assert determine_grade(cell_of(graded(course, released(course, **RIGHT))[0], "written"))[0] is None


@pytest.mark.parametrize("name", ["setup", "double", "test_double_values", "test_answer", "answer"])
def test_a_deleted_cell_is_put_back_in_its_place(course, name):
    nb = released(course, **RIGHT)
    del nb.cells[place_of(nb, name)]
    new, repaired = graded(course, nb)
    assert len(repaired) == 1 and repaired[0].startswith(f"The cell {name!r} was missing")
    assert graded_ids(new) == graded_ids(released(course))
    if name in RIGHT:
        assert cell_of(new, name).source == ""


def test_an_empty_notebook_gets_all_cells(course):
    new, repaired = graded(course, nbformat.v4.new_notebook())
    assert graded_ids(new) == graded_ids(released(course)) == [sentence.split("'")[1] for sentence in repaired]


def test_a_test_before_its_solution_is_moved_behind_it(course):
    nb = released(course, **RIGHT)
    nb.cells.insert(2, nb.cells.pop(place_of(nb, "test_double_kinds")))
    assert place_of(nb, "test_double_kinds") < place_of(nb, "double")
    new, repaired = graded(course, nb)
    assert graded_ids(new) == graded_ids(released(course))
    assert repaired == ["The cell 'test_double_kinds' stood where it does not belong: it was moved."]


def test_a_set_up_cell_at_the_end_is_moved_to_the_front(course):
    nb = released(course, **RIGHT)
    nb.cells.append(nb.cells.pop(place_of(nb, "setup")))
    new, repaired = graded(course, nb)
    assert graded_ids(new)[0] == "setup"
    assert repaired == ["The cell 'setup' stood where it does not belong: it was moved."]


def test_what_may_stand_elsewhere_stays_there(course):
    nb = released(course, **RIGHT)
    nb.cells.append(nb.cells.pop(place_of(nb, "test_double_values")))  # after own cells that the student wants tested
    new, repaired = graded(course, nb)
    assert repaired == [] and graded_ids(new)[-1] == "test_double_values"


def test_a_moved_solution_takes_its_tests_along(course):
    nb = released(course, **RIGHT)
    nb.cells.append(nb.cells.pop(place_of(nb, "double")))
    new, repaired = graded(course, nb)
    assert graded_ids(new)[-3:] == ["double", "test_double_values", "test_double_kinds"]
    assert len(repaired) == 2


@pytest.mark.parametrize("name, kind", [("double", "markdown"), ("double", "raw"), ("test_answer", "markdown"),
                                        ("written", "code"), ("written", "raw"), ("setup", "raw")])
def test_a_retyped_cell_is_turned_back(course, name, kind):
    nb = released(course, **RIGHT)
    nb.cells[place_of(nb, name)] = nbformat.from_dict({**cell_of(nb, name), "cell_type": kind})
    new, repaired = graded(course, nb)
    assert f"The cell {name!r} had become a {kind} cell" in repaired[0] and len(repaired) == 1
    assert cell_of(new, name).source == RIGHT.get(name, cell_of(new, name).source)


def test_changed_read_only_cells_and_marks_are_told(course):
    nb = released(course, **RIGHT)
    cell_of(nb, "test_answer").source = "answer = 98765"
    cell_of(nb, "test_double_values").metadata.nbgrader.points = 200
    cell_of(nb, "double").metadata.nbgrader.update(solution=False, locked=True)
    cell_of(nb, "setup").metadata.nbgrader.schema_version = 1
    cell_of(nb, "test_double_kinds").metadata["tags"] = ["skip-execution"]
    new, repaired = graded(course, nb)
    assert sorted(repaired) == [
        "The marks of the cell 'double' were changed (solution, locked): they are as released again.",
        "The marks of the cell 'test_double_values' were changed (points): they are as released again.",
        "The read-only cell 'test_answer' was changed: its original text was put back.",
        "The tag skip-execution was taken from 'test_double_kinds': grading runs every cell.",
    ]
    assert cell_of(new, "double").source == RIGHT["double"]


@pytest.mark.parametrize("ids", [True, False], ids=["cell ids kept", "cell ids lost"])
def test_cells_without_any_metadata_are_found_by_their_content(course, ids):
    nb = released(course, **RIGHT)
    cell_of(nb, "written").source = "Something of my own."
    for number, cell in enumerate(nb.cells):
        cell.metadata = nbformat.NotebookNode()
        cell["id"] = cell.id if ids else f"new-{number}"
    nb.metadata = nbformat.NotebookNode()
    new, repaired = graded(course, nb)
    assert len(repaired) == 1 and all(repr(name) in repaired[0] for name in graded_ids(new))
    assert own_cells(new) == []
    assert [cell_of(new, name).source for name in RIGHT] == [RIGHT["double"], RIGHT["answer"], "Something of my own."]


@pytest.mark.parametrize("text", ["def double(x):\n    return x + x", "import math\n\nclass double: pass",
                                  "double = abs",
                                  "y, double = 1, abs", "double: object = abs", "async def double(x): pass"])
def test_an_answer_in_a_new_cell_is_found_by_the_name_it_defines(course, text):
    nb = released(course, **RIGHT)
    nb.cells[place_of(nb, "double")] = nbformat.v4.new_code_cell(text)
    assert cell_of(graded(course, nb)[0], "double").source == text


@pytest.mark.parametrize("text", ["double(3)", "x = double", "    double = 1", "doubled = 3", "double == 3"])
def test_a_cell_that_only_uses_a_name_is_no_answer(course, text):
    nb = released(course, **RIGHT)
    nb.cells[place_of(nb, "double")] = nbformat.v4.new_code_cell(text)
    new, _ = graded(course, nb)
    assert cell_of(new, "double").source == "" and [cell.source for cell in own_cells(new)] == [text]


@pytest.mark.parametrize("cut", [1, 2, 3])
@pytest.mark.parametrize("name, text", [
    ("double", "import math\ndef double(x):\n    y = x\n    return x + y"),
    ("written", "First I thought.\n\nThen the scores grew.\n\nSo softmax was sharp."),
])  # fmt: skip
def test_the_pieces_of_a_split_answer_are_put_together(course, name, text, cut):
    nb = released(course, **{**RIGHT, name: text})
    place, lines = place_of(nb, name), text.split("\n")
    second = copy.deepcopy(nb.cells[place])  # as JupyterLab splits: both have the metadata
    nb.cells[place].source, second.source = "\n".join(lines[:cut]), "\n".join(lines[cut:])
    second["id"] = "second"
    nb.cells.insert(place + 1, second)
    new, repaired = graded(course, nb)
    assert cell_of(new, name).source.replace("\n", "") == text.replace("\n", "")
    assert repaired == [f"The cell {name!r} was split in 2: the pieces were put together again, in order."]


@pytest.mark.parametrize("answer_first", [True, False])
def test_an_empty_copy_of_a_written_answer_does_not_count(course, answer_first):
    nb = released(course, **RIGHT)
    with_copies(nb, "written")
    nb.cells[place_of(nb, "written") + answer_first].source = cell_of(released(course), "written").source
    assert cell_of(graded(course, nb)[0], "written").source == RIGHT["written"]


def test_the_second_piece_stays_behind_the_first_when_it_lost_its_metadata(course):
    nb = released(course, **RIGHT)
    nb.cells.insert(place_of(nb, "double") + 1, nbformat.v4.new_code_cell("double(2)"))
    new, repaired = graded(course, nb)
    assert new.cells[place_of(new, "double") + 1].source == "double(2)" and repaired == []


def test_cells_of_another_lesson_are_the_students_own(course):
    nb = released(course, **RIGHT)
    nb.cells.append(copy.deepcopy(cell_of(nb, "test_answer")))
    nb.cells[-1].metadata.nbgrader.grade_id = "test_elsewhere"
    nb.cells[-1]["id"] = "elsewhere"
    new, repaired = graded(course, nb)
    assert len(repaired) == 1 and "'test_elsewhere'" in repaired[0]
    assert new.cells[-1].metadata == {"manyheads": {"role": "student"}}


def test_what_is_told_stays_short_and_in_one_line_each(course):
    nb = released(course, **RIGHT)
    for number in range(300):
        marks = {"grade": True, "solution": False, "points": 1, "grade_id": f"other-{number}\n" + "x" * 5_000}
        nb.cells.append(nbformat.v4.new_raw_cell("text", metadata={"nbgrader": marks}))
        nb.cells.append(nbformat.v4.new_markdown_cell("y" * 500, attachments={"a\n" * 99: {"image/svg+xml": "x"}}))
    nb.metadata["widgets"] = {"state": "z" * 10**6}
    repaired = graded(course, parse(as_bytes(nb)))[1]
    assert len(repaired) <= 101 and all(len(sentence) < 2_000 and "\n" not in sentence for sentence in repaired)


@pytest.mark.parametrize("kernel, told", [({"name": "ir", "language": "R"}, True), ({"name": "broken"}, True), (3,
                                                                                                                False),
                                                                                                                ({},
                                                                                                                 False),
                                          ({"name": "conda-env-x", "language": "python"}, False)])
def test_another_kernel_is_told(course, kernel, told):
    nb = released(course, **RIGHT)
    nb.metadata = nbformat.from_dict({"kernelspec": kernel, "manyheads": {"names": ["os"]}})
    assert bool(graded(course, nb)[1]) == told


def test_demonstrations_keep_their_role_unless_they_were_changed():
    def cell(number, text, role, **more):
        return nbformat.v4.new_code_cell(text, id=f"cell-{number}", metadata={"manyheads": {"role": role}, **more})

    source = nbformat.v4.new_notebook(cells=[cell(1, "show(1)", "demo"), cell(2, "show(2)", "demo"), cell(3, "look()",
                                                                                                          "check"),
                                             nbformat.v4.new_markdown_cell("Read this.", id="cell-4")])
    nb = copy.deepcopy(source)
    nb.cells[1].source = "show(20)"
    nb.cells[2].metadata = nbformat.from_dict({"tags": ["skip-execution"]})
    nb.cells += [cell(9, "mine()", "demo"), cell(8, "show(1)", "student")]
    del nb.cells[3]
    new, _ = rebuild(nb, source)
    assert [(cell.source, cell.metadata["manyheads"]["role"]) for cell in new.cells] == [
        ("show(1)", "demo"), ("show(20)", "student"), ("look()", "check"), ("mine()", "student"), ("show(1)", "demo")]
    assert len({cell.id for cell in new.cells}) == 5


def test_only_pictures_stay_attached(course):
    dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    nb = released(course, **RIGHT)
    cell_of(nb, "written")["attachments"] = {"dot.png": {"image/png": dot, "text/html": "<script>"},
                                             "x.svg": {"image/svg+xml": "<svg>"}, "no.png": {"image/png": "PHN2Zz4="}}
    new, repaired = graded(course, nb)
    assert cell_of(new, "written").attachments == {"dot.png": {"image/png": dot}}
    assert len(repaired) == 1 and "'x.svg', 'no.png'" in repaired[0]


ODD_METADATA = [{}, {"nbgrader": {}}, {"nbgrader": []}, {"nbgrader": "x"}, {"nbgrader": {"grade_id": 3}},
                {"manyheads": 5},
                {"nbgrader": {"grade_id": "written", "grade": True, "points": 99}, "manyheads": {"role": "note"}},
                {"manyheads": {"role": "test"}, "tags": ["skip-execution"]}, {"tags": 3, "editable": True}]
TEXTS = ["", "def double(x): return 3", "answer = 98765", "double = None\n\nanswer = 2", "\0", "raise SystemExit",
         "# A small lesson"]
EDITS = st.lists(st.tuples(
    st.sampled_from(["delete", "copy", "move", "split", "retype", "metadata", "text", "id", "notebook", "attach"]),
    st.integers(0, 30), st.integers(0, 30)), max_size=8)  # fmt: skip


def edit(nb, what, one, two):
    if not nb.cells:
        return
    place = one % len(nb.cells)
    cell = nb.cells[place]
    match what:
        case "delete":
            del nb.cells[place]
        case "copy":
            nb.cells.insert(two % (len(nb.cells) + 1), copy.deepcopy(cell))
        case "move":
            nb.cells.insert(two % len(nb.cells), nb.cells.pop(place))
        case "split":
            twin = copy.deepcopy(cell)
            cell.source, twin.source = cell.source[:two * 3], cell.source[two * 3:]
            nb.cells.insert(place + 1, twin)
        case "retype":
            cell.cell_type = ("code", "markdown", "raw")[two % 3]
        case "metadata":
            cell.metadata = nbformat.from_dict(ODD_METADATA[two % len(ODD_METADATA)])
        case "text":
            cell.source = TEXTS[two % len(TEXTS)]
        case "id":
            cell["id"] = ("setup", "written", "a b", None, "x", 3)[two % 6]
        case "notebook":
            nb.metadata = nbformat.from_dict(({}, {"kernelspec": 3}, {"kernelspec": {"name": "ir"}})[two % 3])
        case "attach":
            cell["attachments"] = ({}, {"a": 3}, {"a": {"image/png": "x"}}, 7)[two % 4]


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(EDITS)
def test_however_it_was_edited_each_graded_cell_is_there_once(course, edits):
    nb = released(course, **RIGHT)
    for step in edits:
        edit(nb, *step)
    graded(course, parse(as_bytes(nb)))


# ---- through nbgrader -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_gradebook_that_does_not_match_the_source_is_refused_in_one_line(tmp_path):
    course = small_course(tmp_path)
    course.hand_in(LESSON, "student", released(course, **RIGHT))
    source = source_of(course)
    cell_of(source, "test_answer").metadata.nbgrader.points = 3
    nbformat.write(source, course.course.notebook("source", LESSON))
    result = course.api.autograde(LESSON, "*", force=True)
    assert not result["success"]
    assert "the gradebook does not match source/small: run `manyheads gradebook sync`" in result["log"]


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


@pytest.mark.slow
def test_nbgrader_follows_no_link_of_a_student(course):
    """nbgrader itself copies what a link points to: neither student code nor autograded/ may keep it."""
    spy = "import os\nprint(sorted(os.listdir('.')))\n" + RIGHT["double"]
    course.hand_in(LESSON, "linker", released(course, **{**RIGHT, "double": spy}))
    folder = course.course.root / "submitted" / "linker" / LESSON
    (folder / "own.txt").write_text("mine")
    (folder / "stolen.txt").symlink_to(course.course.notebook("source", LESSON))
    course.autograde(LESSON, "linker")
    graded = course.course.root / "autograded" / "linker" / LESSON
    text = (graded / f"{LESSON}.ipynb").read_text()
    assert "['own.txt']" in text and "Left out, as symbolic links: stolen.txt." in text
    assert sorted(path.name for path in graded.iterdir()) == ["own.txt", f"{LESSON}.ipynb"]
    assert points_of(course, "linker") == FULL


@pytest.mark.slow
def test_a_folder_name_with_markup_is_refused(course):
    """Formgrader's pages show it as it is."""
    course.hand_in(LESSON, "<i>x", released(course, **RIGHT))
    result = course.api.autograde(LESSON, "<i>x", force=True)
    assert not result["success"] and "would take for markup: rename it" in result["log"]
