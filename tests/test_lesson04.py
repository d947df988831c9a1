"""Lesson 04: the numbers its text prints, its pictures, its visible checks, and what it claims of the stored runs."""

import ast
import re
import xml.etree.ElementTree as ET
from functools import cache
from pathlib import Path

import pytest
import torch

from manyheads import learn
from manyheads.check import exercises, lesson04
from manyheads.course.lesson import Course, python_of, read_lesson
from manyheads.learn import mixing

LESSON = "04_concat_and_output"
SVG = "{http://www.w3.org/2000/svg}"
ROLES = ("subject", "object", "recipient", "companion")


@cache
def notebook():
    course = Course.find(Path(__file__).parent)
    return read_lesson(course.text(LESSON).read_text(encoding="utf-8"), LESSON)


def cells(role):
    return [cell for cell in notebook().cells if cell.cell_type == "code" and cell.metadata.manyheads.role == role]


@pytest.fixture(scope="module")
def solved():
    """What the lesson's given cells and solutions define."""
    names = {}
    for cell in notebook().cells:
        if cell.cell_type == "code" and (cell.metadata.manyheads.role == "setup"
                                         or cell.metadata.get("nbgrader", {}).get("solution")):
            exec(python_of(cell), names)
    return names


def prose():
    return "\n".join(cell.source for cell in notebook().cells if cell.cell_type == "markdown")


def test_the_printed_rows_of_delivered_follow_from_the_given_code(solved):
    heads, W_O = solved["heads"], solved["W_O"]
    found = heads[0, :, 1]
    shares = torch.stack([found[0] @ W_O[:3], found[1] @ W_O[3:]])
    for row in (*found, *shares, shares.sum(0), 100 + shares.sum(0), 100 + shares[0]):
        printed = "[" + ", ".join(f"{round(x, 1) + 0.0:g}" for x in row.tolist()) + "]"
        assert printed in prose(), printed


def test_the_toy_is_what_its_table_and_its_sentence_say(solved):
    heads, W_O = solved["toy_heads"], solved["toy_W_O"]
    for column in (0, 1):
        row = re.search(rf"\| column {column} \|(.*)\|", prose()).group(1)
        assert [float(x) for x in row.split("|")] == W_O[:, column].tolist()
    assert (heads[1] @ W_O[3:]).tolist() == [3, 4]
    assert solved["toy_share_1"] == (heads[0] @ W_O[:3]).tolist() == [0.5, 2.0]
    assert solved["toy_output"] == (heads.flatten() @ W_O).tolist() == [3.5, 6.0]


@pytest.mark.parametrize("answer", ["toy_output", "toy_share_1"])
def test_no_tempting_number_is_the_right_one(solved, answer):
    assert lesson04.tempting(answer)
    assert all(max(abs(a - b) for a, b in zip(wrong, solved[answer], strict=True)) > 0.1
               for wrong in lesson04.tempting(answer))


@pytest.mark.parametrize("answers", [("numbers_04", [1.0, 2.0], [3.0, 1.0]), ("shapes_04", (2, 3), (2, 3)),
                                     ("shapes_04", (240, 512, 1), (512, 240)), ("choices_04", "E", "A")])
def test_a_visible_check_of_answers_refuses_what_cannot_be(answers):
    assert exercises.outcome(*answers).status == exercises.NOT_RIGHT


# --- pictures ---------------------------------------------------------------------------------------------------


@pytest.fixture
def shown(monkeypatch):
    """What a picture function displays: the SVG, parsed, and its words."""
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    seen = []
    monkeypatch.setattr(mixing, "show_svg", lambda svg, words: seen.append((ET.fromstring(svg), words)))

    def call(function, *args, **kwargs):
        assert function(*args, **kwargs) is None
        return seen[-1]

    return call


def test_the_mixing_picture_adds_up(shown):
    svg, words = shown(learn.mixing_picture)
    lists = [ast.literal_eval(text) for text in re.findall(r"gives (\[.*\])|sum: (\[.*\])", words) for text in text if text]
    assert [a + b for a, b in zip(*lists[:2], strict=True)] == lists[2] == [4.5, 4.5, 2, 2.5, -2.5, 0]
    assert "−0" not in [text.text for text in svg.iter(f"{SVG}text")]


def test_the_orientation_picture_cuts_rows_on_the_left_and_columns_on_the_right(shown):
    svg, words = shown(learn.orientation_picture, num_heads=3, d_v=2, d_model=5)
    for head in "123":
        left, right = [rect.attrib for rect in svg.iter(f"{SVG}rect") if rect.get("data-head") == head]
        assert float(left["width"]) / float(left["height"]) == pytest.approx(5 / 2, rel=0.01)
        assert float(right["width"]) / float(right["height"]) == pytest.approx(2 / 5, rel=0.01)
    assert "(6, 5)" in words and "(5, 6)" in words


def test_the_ablation_picture_draws_what_is_left(shown):
    svg, words = shown(learn.ablation_picture, torch.tensor([[1, 0.75], [0.25, 1], [1, 0.5]]), ("one", "two"))
    bars = {(rect.get("data-row"), rect.get("data-role")): float(rect.get("width"))
            for rect in svg.iter(f"{SVG}rect") if rect.get("data-role")}
    assert bars["1", "one"] == pytest.approx(bars["0", "one"] / 4)
    assert "without head 2 (index 1): one 1.00, two 0.50" in words
    with pytest.raises(ValueError, match="one number for each role"):
        learn.ablation_picture([[1.0, 0.5, 0.2]], ("one", "two"))


def test_pictures_cost_nothing_while_grading(monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    monkeypatch.setattr(mixing, "show_svg", None)
    learn.mixing_picture()
    learn.orientation_picture(3, 2, 4)
    learn.ablation_picture([[1.0]], ("one", "two"))


# --- what the text claims of the trained toy model ----------------------------------------------------------------


@pytest.mark.parametrize(("num_heads", "left"), [(4, (0.0, 0.1)), (8, (0.3, 0.65))])
def test_one_cut_costs_exactly_one_relation(monkeypatch, num_heads, left):
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")  # the stored run of seed 1
    whole, *cuts = learn.train_heads(num_heads).ablation().tolist()
    assert len(cuts) == num_heads and min(whole) > 0.97
    for after in cuts:
        lost, *others = sorted(after)
        assert left[0] <= lost <= left[1] and min(others) > 0.97
    hurt = {after.index(min(after)) for after in cuts}
    assert hurt == set(range(len(ROLES)))
