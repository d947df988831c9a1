"""The split picture and its explorer: numbers, boundaries and offers, for every pair of counts."""

import base64
import html
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from manyheads import learn
from manyheads.learn import explorers
from manyheads.learn.palette import head_colour
from manyheads.learn.pictures import svg_image
from manyheads.learn.split import nearest_head_counts, split_sentence, split_svg

SVG = "{http://www.w3.org/2000/svg}"
counts = given(d_model=st.integers(1, 200), num_heads=st.integers(1, 200))


def rectangles(d_model, num_heads):
    return [rect.attrib for rect in ET.fromstring(split_svg(d_model, num_heads)).iter(f"{SVG}rect")]


@counts
@example(d_model=16, num_heads=4)
@example(d_model=4, num_heads=7)
@example(d_model=12288, num_heads=96)
def test_the_heads_cut_the_feature_axis_without_gap_or_overlap(d_model, num_heads):
    rects = rectangles(d_model, num_heads)
    heads = [rect for rect in rects if "data-head" in rect]
    left_over = sum(int(rect["data-left-over"]) for rect in rects if "data-left-over" in rect)
    covered = 0
    for head in heads:
        assert int(head["data-start"]) == covered
        covered = int(head["data-stop"])
        assert covered - int(head["data-start"]) == d_model // num_heads
    assert covered + left_over == d_model
    assert (left_over == 0) == (d_model % num_heads == 0)
    assert len(heads) == (num_heads if num_heads <= d_model else 0)


@counts
def test_the_picture_is_drawn_to_scale_with_each_head_in_its_colour(d_model, num_heads):
    heads = [rect for rect in rectangles(d_model, num_heads) if "data-head" in rect]
    for head in heads:
        start, stop = int(head["data-start"]), int(head["data-stop"])
        assert float(head["x"]) == pytest.approx(20 + 680 * start / d_model, abs=0.01)
        assert float(head["width"]) == pytest.approx(680 * (stop - start) / d_model, abs=0.01)
        assert head_colour(int(head["data-head"]) - 1) in head["style"]


@counts
def test_picture_and_sentence_say_the_same(d_model, num_heads):
    root = ET.fromstring(split_svg(d_model, num_heads))
    assert root.get("role") == "img"
    assert root.get("aria-label") == split_sentence(d_model, num_heads)
    assert root.find(f"{SVG}title").text.startswith(f"d_model = {d_model}, num_heads = {num_heads}")


@counts
@example(d_model=16, num_heads=5)
def test_offered_head_counts_divide_and_none_is_nearer(d_model, num_heads):
    offered = nearest_head_counts(d_model, num_heads)
    assert all(d_model % count == 0 for count in offered)
    between = range(min(offered, default=0) + 1, max(offered, default=0))
    if len(offered) == 2:
        assert not [count for count in between if d_model % count == 0 and count != num_heads]
    if d_model % num_heads:
        assert offered, "1 always divides"
        assert f"{' and '.join(map(str, offered))}." in split_sentence(d_model, num_heads)


def test_a_dividing_pair_gets_every_shape_and_its_sizes():
    words = "\n".join(ET.fromstring(split_svg(48, 6)).itertext())
    for shape in ("(batch, seq, 48)", "(batch, seq, 6, 8)", "(batch, 6, seq, 8)", "(batch, 6, seq, seq)"):
        assert shape in words
    assert "= 9,408" in words  # 4 * 48**2 + 4 * 48
    assert "9,408 parameters stay the same" in split_sentence(48, 12)
    assert "12 maps" in split_sentence(48, 12)


def test_a_pair_that_does_not_divide_says_why_and_what_would():
    assert split_sentence(16, 5) == (
        "d_model = 16 cannot be shared equally by num_heads = 5: with 3 features each, 1 feature would be left over. "
        "The nearest head counts that divide 16: 4 and 8."
    )
    assert "more heads than features" in split_sentence(4, 7)


@pytest.mark.parametrize("pair", [(0, 4), (16, 0), (-8, 2), (16, 4.0), (True, 1), ("16", 4)])
def test_counts_that_are_no_counts_are_refused(pair):
    with pytest.raises(ValueError, match="whole numbers of at least 1"):
        split_svg(*pair)


def test_a_static_picture_is_an_image_with_its_words():
    words = 'a "picture" & words'
    image = ET.fromstring(svg_image(split_svg(6, 2), words) + "</img>")
    assert image.get("alt") == words
    assert base64.b64decode(image.get("src").split(",")[1]).decode() == split_svg(6, 2)


def test_the_split_picture_stays_in_the_saved_output(displayed):
    assert learn.split_picture(6, 2) is None
    [output] = displayed
    assert output["text/plain"] == split_sentence(6, 2)
    assert svg_image(split_svg(6, 2), split_sentence(6, 2), width=720) in output["text/html"]


def test_the_explorer_follows_its_sliders_and_leaves_a_static_twin(displayed):
    assert learn.split_explorer() is None
    explorer, twin = displayed
    assert "Static picture (d_model = 16, num_heads = 4)" in twin["text/plain"]
    assert svg_image(split_svg(16, 4), split_sentence(16, 4), width=720) in twin["text/html"]

    d_model, num_heads, picture, _ = explorer.children
    for move in range(2, 17):
        num_heads.value = move
    d_model.value = 48
    assert split_svg(48, 16) in picture.value, "the last move wins"
    d_model.value = 50
    assert "The nearest head counts that divide 50: 10 and 25." in picture.value


EXPLORERS = [name for name in learn.__all__ if name.endswith("_explorer")]


@pytest.mark.parametrize("name", EXPLORERS)
def test_every_explorer_is_a_live_picture_and_a_static_twin_with_words(displayed, name):
    assert getattr(learn, name)() is None
    explorer, twin = displayed
    live = ET.fromstring(explorer.children[-2].value.split("<p>")[0])
    assert live.get("role") == "img" and live.find(f"{SVG}title").text
    image = re.search(r'base64,([\w+/=]+)" alt="([^"]+)"', twin["text/html"])
    still = ET.fromstring(base64.b64decode(image[1]).decode())
    assert list(still.itertext()) == list(live.itertext()), "the twin shows the start of the live picture"
    assert html.unescape(image[2]) in twin["text/plain"]
    assert "<script" not in twin["text/html"] and "onload" not in twin["text/html"]
    for control in explorer.children[:-2]:
        if "value" in control.keys and type(control).__name__ != "HTML":
            assert control.description, "every control has a visible label"


@pytest.mark.parametrize("name", EXPLORERS)
def test_grading_pays_for_none_of_it(displayed, monkeypatch, name):
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    assert getattr(learn, name)() is None
    assert not displayed


def test_grading_does_not_even_load_the_widgets():
    code = f"import sys; from manyheads import learn; [getattr(learn, name)() for name in {EXPLORERS}]; learn.mentor('x'); "
    code += "sys.exit('ipywidgets' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | {"NBGRADER_EXECUTION": "autograde"})
    assert done.returncode == 0


def test_a_list_keeps_its_choice_when_it_can(displayed):
    from ipywidgets import Dropdown

    chooser = Dropdown(options=[("none", 0), ("1 the", 1), ("2 cat", 2)], value=2)
    explorers.offer(chooser, explorers.words_to_mark(["a", "dog"]))
    assert (chooser.value, chooser.label) == (2, "2 dog")
    explorers.offer(chooser, explorers.words_to_mark(["a"]))
    assert (chooser.value, chooser.label) == (0, "none")
