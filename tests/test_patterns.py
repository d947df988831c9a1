"""Random heads: the maps are attention, the picture shows them and says that they mean nothing."""

import base64
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from manyheads import learn
from manyheads.learn import drawing, patterns
from manyheads.learn.palette import head_colour
from manyheads.learn.patterns import patterns_sentence, patterns_svg, random_maps

SVG = "{http://www.w3.org/2000/svg}"
SENTENCE = "the cat saw the dog"
words = st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=15), max_size=19)


def heads_of(svg: str) -> list[ET.Element]:
    return [group for group in ET.fromstring(svg).iter(f"{SVG}g") if "data-head" in group.attrib]


def cells_of(group: ET.Element) -> dict[tuple[int, int], str]:
    """The colour of each drawn cell (query, key)."""
    cells = [
        ((int(query), int(key)), path.get("fill"))
        for path in group.iter(f"{SVG}path")
        for key, query in re.findall(r"M(\d+) (\d+)h1v1h-1z", path.get("d"))
    ]
    assert len(cells) == len(dict(cells)), "no cell is drawn twice"
    return dict(cells)


def told(group: ET.Element) -> tuple[list[str], list[int]]:
    """Words and weights, in percent, that pointing at the map shows."""
    [cells] = [one for one in group.iter() if "data-percent" in one.attrib]
    return cells.get("data-words").split(" "), list(map(int, cells.get("data-percent").split()))


@settings(max_examples=30, deadline=None)
@given(words=words, d_k=st.integers(1, 8), num_heads=st.integers(1, 16))
@example(words=["<b>", '"&', "a" * 40], d_k=2, num_heads=3)
def test_every_sentence_gives_one_whole_picture(words, d_k, num_heads):
    sentence, d_model = " ".join(words), d_k * num_heads
    root = ET.fromstring(patterns_svg(sentence, d_model, num_heads))  # well-formed, whatever was typed
    assert root.get("aria-label") == patterns_sentence(sentence, d_model, num_heads)
    drawn = min(len(sentence.split()), patterns.MOST_WORDS)
    maps = heads_of(patterns_svg(sentence, d_model, num_heads))
    assert len(maps) == (num_heads if drawn else 0)
    for one in maps:
        assert len(cells_of(one)) == drawn * drawn


def test_the_picture_shows_the_weights_in_their_places_and_colours():
    maps, typed = random_maps(SENTENCE, 12, 3), SENTENCE.split()
    for number, (group, weights) in enumerate(zip(heads_of(patterns_svg(SENTENCE, 12, 3)), maps, strict=True), start=1):
        percent = np.rint(100 * weights)
        expected = {place: drawing.weight_colour(share / 100) for place, share in np.ndenumerate(percent)}
        assert cells_of(group) == expected
        assert told(group) == (typed, percent.flatten().tolist())
        assert group.get("data-head") == str(number)
        assert head_colour(number - 1) in ET.tostring(group).decode()


def test_one_head_is_enlarged_and_one_word_is_marked():
    [alone] = heads_of(patterns_svg(SENTENCE, 12, 3, head=1, word=2))
    weights = random_maps(SENTENCE, 12, 3)[1]
    assert told(alone)[1] == np.rint(100 * weights).flatten().tolist()
    assert [f"{w:.2f}" for w in weights.flatten()] == [text.text for text in alone.iter(f"{SVG}text") if text.text[:2] == "0."]
    assert {rect.get("data-row") for rect in alone.iter(f"{SVG}rect") if rect.get("data-row")} == {"2"}
    assert f"saw looks at {SENTENCE.split()[weights[2].argmax()]} {weights[2].max():.2f}, " in patterns_sentence(SENTENCE, 12, 3, 0, 1, 2)


def test_another_seed_gives_other_maps():
    assert np.array_equal(random_maps(SENTENCE, 12, 3, 5), random_maps(SENTENCE, 12, 3, 5))
    assert not np.allclose(random_maps(SENTENCE, 12, 3, 5), random_maps(SENTENCE, 12, 3, 6))


def test_random_maps_are_attention_without_positions():
    maps = random_maps(SENTENCE, 12, 3)
    assert maps.shape == (3, 5, 5)
    assert np.allclose(maps.sum(-1), 1) and (maps > 0).all()
    assert np.allclose(maps[:, 0], maps[:, 3]) and np.allclose(maps[:, :, 0], maps[:, :, 3]), "the same word twice"
    assert not np.allclose(maps[0], maps[1]), "heads differ"
    order = [4, 2, 0, 1, 3]
    shuffled = random_maps(" ".join(SENTENCE.split()[i] for i in order), 12, 3)
    assert np.allclose(shuffled, maps[:, order][:, :, order])


def test_wide_and_narrow_heads_are_equally_sharp():
    """Scores are divided by √d_k: the largest weight of a row must not depend on the width of the heads."""
    sentence = " ".join(f"word{i}" for i in range(12))
    sharp = [random_maps(sentence, d_model, 4).max(-1).mean() for d_model in (16, 64, 256)]
    assert max(sharp) < 1.4 * min(sharp) and max(sharp) < 0.5


def test_the_words_say_what_is_seen_and_that_it_means_nothing():
    said = patterns_sentence(SENTENCE, 12, 3)
    assert "3 maps of 5 × 5 weights" in said and "Random: the pattern has no meaning." in said
    weights = random_maps(SENTENCE, 12, 3)[1]
    query, key = (SENTENCE.split()[place] for place in np.unravel_index(weights.argmax(), weights.shape))
    assert f"head 2 {query} → {key} {weights.max():.2f}" in said
    assert "random: the pattern has no meaning" in "".join(ET.fromstring(patterns_svg(SENTENCE, 12, 3)).itertext())


def test_what_cannot_be_drawn_is_explained():
    assert "cannot be shared equally by num_heads = 5" in patterns_sentence(SENTENCE, 12, 5)
    assert not heads_of(patterns_svg(SENTENCE, 12, 5))
    assert "Type a sentence" in patterns_sentence("  ", 12, 3)
    assert "Only the first 16 of 18 words are drawn." in patterns_sentence(" ".join("abcdefghijklmnopqr"), 12, 3)
    with pytest.raises(ValueError, match="whole numbers of at least 1"):
        patterns_svg(SENTENCE, 12, 0)


def test_the_explorer_follows_its_controls_and_leaves_a_static_twin(displayed):
    assert learn.patterns_explorer() is None
    explorer, twin = displayed
    assert "Static picture (d_model = 16, num_heads = 4, seed = 0, head = all, word = none)" in twin["text/plain"]
    image = re.search(r"base64,([\w+/=]+)", twin["text/html"])[1]
    assert base64.b64decode(image).decode() == patterns_svg(patterns.SENTENCE, 16, 4)

    sentence, d_model, num_heads, seed, head, word, picture, _ = explorer.children
    num_heads.value = 8
    sentence.value = SENTENCE
    d_model.value = 32
    assert patterns_svg(SENTENCE, 32, 8) in picture.value, "the last change wins"
    sentence.value = "<script>alert(1)</script>"
    assert "<script" not in picture.value
    sentence.value = SENTENCE
    seed.value, head.value, word.value = 3, 8, 2
    assert patterns_svg(SENTENCE, 32, 8, 3, 7, 1) in picture.value
    num_heads.value = 4
    assert head.label == "all", "head 8 is not there any more"
    assert patterns_svg(SENTENCE, 32, 4, 3, None, 1) in picture.value
    num_heads.value = 5
    assert "The nearest head counts that divide 32: 4 and 8." in picture.value


def test_the_static_picture_stays_in_the_saved_output(displayed):
    assert learn.patterns_picture(SENTENCE, 12, 3) is None
    [output] = displayed
    assert output["text/plain"] == patterns_sentence(SENTENCE, 12, 3)


def test_grading_pays_for_none_of_it(displayed, monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    assert learn.patterns_picture() is None
    assert not displayed
