"""Trained heads, masks, mixing, one or many: the pictures show the numbers, the words say the same."""

import math
import re
import threading
import time
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import torch

from manyheads import learn
from manyheads.learn import masks, mixing, one_or_many
from manyheads.learn.masks import BLOCKED, MASKS, PLACES, masks_sentence, masks_svg
from manyheads.learn.one_or_many import one_or_many_sentence, one_or_many_svg
from manyheads.learn.trained_heads import trained_heads_sentence, trained_heads_svg

SVG = "{http://www.w3.org/2000/svg}"
TEXT = "The cat saw the dog."


def shown(svg: str) -> tuple[list[str], np.ndarray]:
    """Words and weights (seq, seq) that pointing at the only map shows."""
    [cells] = [one for one in ET.fromstring(svg).iter() if "data-percent" in one.attrib]
    words = cells.get("data-words").split(" ")
    return words, np.array(cells.get("data-percent").split(), float).reshape(len(words), -1) / 100


# ------------------------------------------------------------------ trained heads


def test_a_trained_head_is_drawn_with_its_weights_and_its_name():
    reading = learn.read_sentence(TEXT)
    words, weights = shown(trained_heads_svg(TEXT, 1, 3))
    assert words == list(reading.tokens)
    assert np.abs(weights - reading.attention[0, 2].numpy()).max() < 0.0051
    said = trained_heads_sentence(TEXT, 1, 3)
    assert "L1H3: each word looks at the word before it. Mean weight 1.00" in said
    assert "On this sentence: each word looks at the word before it" in said
    assert "Largest weights between two words: " in said and "cat -> the " in said
    assert re.search(r"L2H1: no name\. Its largest simple score: [a-z ]+ \d\.\d\d, on 18 sentences\.", trained_heads_sentence(TEXT, 2, 1))


def test_hiding_special_tokens_renormalises_and_says_so():
    reading = learn.read_sentence(TEXT)
    inner = reading.attention[1, 8, 1:-1, 1:-1].numpy()
    expected = inner / inner.sum(-1, keepdims=True)
    words, weights = shown(trained_heads_svg(TEXT, 2, 9, special=False))
    assert words == list(reading.tokens[1:-1])
    assert np.abs(weights - expected).max() < 0.0051
    held = reading.attention[1, 8, 1:-1][:, [0, -1]].sum(-1).mean()
    said = trained_heads_sentence(TEXT, 2, 9, special=False)
    assert "renormalises" in said and f"They held {held:.0%} of the words' weight" in said
    assert "renormalises" not in trained_heads_sentence(TEXT, 2, 9)


def test_a_marked_word_tells_its_row_and_odd_sentences_are_explained():
    assert "dog looks at" in trained_heads_sentence(TEXT, 1, 3, word=5)
    assert "Type a sentence" in trained_heads_sentence("", 1, 3, special=False)
    long = " ".join(["the cat saw the dog"] * 6)
    assert "Only the first 20 of 32 tokens are drawn" in trained_heads_sentence(long, 1, 3)
    assert shown(trained_heads_svg(long, 1, 3))[1].shape == (20, 20)


def test_the_explorer_of_trained_heads_follows_its_controls(displayed):
    learn.trained_heads_explorer()
    text, layer, head, special, word, picture, _ = displayed[0].children
    text.value, layer.value, head.value, word.value = TEXT, 3, 10, 3
    assert trained_heads_svg(TEXT, 3, 10, True, 2) in picture.value
    special.value = False
    assert word.label == "3 saw", "the place stays, the words are counted anew"
    assert trained_heads_svg(TEXT, 3, 10, False, 2) in picture.value
    text.value = "<b> & <i>"
    assert "<b>" not in picture.value


# ------------------------------------------------------------------ masks


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("filling", [0, 2, 5])
@pytest.mark.parametrize("mask", MASKS)
def test_masks_and_weights_are_those_of_torch(mask, filling, place):
    tokens = masks._tokens(filling, place)
    is_word = torch.tensor([token != "[PAD]" for token in tokens])
    may = torch.ones(5, 5).bool()
    may &= is_word if mask in ("padding", "both") else True
    may &= torch.ones(5, 5).tril().bool() if mask in ("causal", "both") else True
    assert masks._rows(mask, filling, place) == may.tolist()

    for blocked, fill in zip(BLOCKED, (-1e9, -math.inf, None), strict=True):
        weights = torch.tensor(masks._weights(mask, filling, place, blocked))
        shut = ~may.any(-1)
        assert torch.allclose(weights[~shut].sum(-1), torch.ones(int((~shut).sum())))
        assert (weights[~shut][~may[~shut]] == 0).all()
        expected = torch.zeros(5) if fill is None else torch.full((5,), fill).softmax(-1)
        for row in weights[shut]:
            assert torch.allclose(row, expected, equal_nan=True)


def test_a_causal_mask_gives_the_numbers_of_the_lesson():
    weights = masks._weights("causal", 0, PLACES[0], BLOCKED[0])
    assert weights[1] == pytest.approx([6 / 7, 1 / 7, 0, 0, 0], abs=1e-3)  # row delivered, exponentials 6, 1


def test_polarity_and_blocked_rows_are_told_in_words():
    for mask in MASKS:
        assert "1 (True) means may look, 0 (False) means blocked" in masks_sentence(mask, 2, "in front", BLOCKED[0])
    assert "Rows 1, 2 have no open key" in masks_sentence("both", 2, "in front", BLOCKED[1])
    assert "gives NaN" in masks_sentence("both", 2, "in front", BLOCKED[1])
    assert "Every row has an open key" in masks_sentence("both", 2, "at the end", BLOCKED[1])
    root = ET.fromstring(masks_svg("both", 2, "in front", BLOCKED[1]))
    assert [rect.get("data-blocked-row") for rect in root.iter() if rect.get("data-blocked-row")] == ["1", "2"] * 2
    assert "".join(root.itertext()).count("NaN") >= 10


# ------------------------------------------------------------------ mixing


def test_a_cut_head_is_missing_from_the_sum_and_told_as_lost():
    example = learn.running_example()
    first, second = torch.tensor([7.0, 2, 2]) @ example.W_O[:3], torch.tensor([2.0, 7, 2]) @ example.W_O[3:]
    for on in ((True, True), (True, False), (False, True), (False, False)):
        said = mixing.mixing_words(on)
        output = [float(number) for number in re.search(r"the sum: \[(.*)\]", said)[1].split(",")]
        assert output == (first * on[0] + second * on[1]).tolist()
        assert [f"lost with head {head + 1}" in said for head in range(2)] == [not kept for kept in on]
        drawn = [group.get("data-on") for group in ET.fromstring(mixing.mixing_svg(on)).iter(f"{SVG}g")]
        assert drawn == [str(int(kept)) for kept in on]


# ------------------------------------------------------------------ one or many


@pytest.mark.parametrize("num_heads", one_or_many.HEADS)
def test_the_stored_run_of_each_count_is_drawn(num_heads):
    run = next(run for run in learn.stored_sweep() if (run.num_heads, run.seed) == (num_heads, 1))
    root = ET.fromstring(one_or_many_svg(num_heads))
    drawn = [float(rect.get("data-weight")) for rect in root.iter(f"{SVG}rect") if rect.get("data-weight")]
    assert drawn == pytest.approx(run.weights[:16].flatten().tolist(), abs=0.0051)
    assert [rect.get("data-chosen") for rect in root.iter() if rect.get("data-chosen")] == [str(num_heads)]
    assert len([dot for dot in root.iter(f"{SVG}circle")]) == len(learn.stored_sweep())
    assert f"Accuracy {run.accuracy:.2f}" in one_or_many_sentence(num_heads)
    assert "seed 9 is not stored" in one_or_many_sentence(num_heads, 9)


def wait_for(fact) -> None:
    end = time.monotonic() + 60
    while not fact():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


def test_the_button_trains_and_can_be_stopped(displayed, monkeypatch):
    monkeypatch.setattr(one_or_many, "STEPS", 60)
    learn.one_or_many_explorer()
    heads, seed, buttons, bar, said, picture, _ = displayed[0].children
    train, stop = buttons.children
    heads.value, seed.value = 2, 17
    assert "seed 17 is not stored, train it" in picture.value
    train.click()
    wait_for(lambda: not train.disabled)
    assert "trained live, seed 17" in picture.value and "Trained live: 2 heads" in said.value
    heads.value = 4
    assert "trained live" not in picture.value, "another count shows its stored runs"
    heads.value = 2
    assert "trained live, seed 17" in picture.value

    monkeypatch.setattr(one_or_many, "STEPS", 1_000_000)
    seed.value = 18
    train.click()
    wait_for(lambda: bar.value > 0)
    assert train.disabled and not stop.disabled
    stop.click()
    wait_for(lambda: not train.disabled)
    assert "Stopped after" in said.value and "trained live" not in picture.value
    wait_for(lambda: one_or_many.THREAD not in [thread.name for thread in threading.enumerate()])
