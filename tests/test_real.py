"""The stored heads of a real model: the picture, the drawn weights and the printed numbers belong together."""

import html
import io
import json
import re

import numpy as np
import pytest
from PIL import Image

from manyheads.learn import real, real_heads

REPORT = json.loads(real.STORE.read_text())
DRAWN = {head["head"]: head for head in REPORT["drawn"]}


def rows_on_target(head, target):
    """Mean weight of ordinary tokens on the key at ``target(place)``."""
    weights = np.array(head["weights"])
    return np.mean([weights[place, target(place)] for place in range(1, len(head["tokens"]) - 1)])


@pytest.mark.parametrize("head", DRAWN)
def test_drawn_weights_are_attention(head):
    weights = np.array(DRAWN[head]["weights"])
    assert weights.shape == (len(DRAWN[head]["tokens"]),) * 2
    assert weights.min() >= 0 and np.allclose(weights.sum(1), 1, atol=0.01)


def test_drawn_weights_show_what_the_scores_say():
    """On one sentence, so only roughly the score over all of them."""
    score = {place["head"]: place["mean_weight"] for place in REPORT["places"]}
    assert rows_on_target(DRAWN["L1H3"], lambda place: place - 1) == pytest.approx(score["L1H3"], abs=0.01)
    assert rows_on_target(DRAWN["L2H9"], lambda place: place + 1) == pytest.approx(score["L2H9"], abs=0.15)
    assert rows_on_target(DRAWN["L3H10"], lambda place: 0) == pytest.approx(score["L3H10"], abs=0.15)


@pytest.mark.parametrize("head", [name for name, head in DRAWN.items() if head["right"]])
def test_the_ringed_answers_are_hit(head):
    weights = np.array(DRAWN[head]["weights"])
    for query, keys in DRAWN[head]["right"]:
        row = weights[query].copy()
        row[[0, -1, query]] = -1  # [CLS], [SEP] and the word itself are left out, as in the scores
        assert row.argmax() in keys, (head, DRAWN[head]["tokens"][query])


def test_committed_picture_is_drawn_from_the_stored_weights():
    fresh = Image.open(io.BytesIO(real.figure_png(real._figure(REPORT["drawn"])))).convert("L")
    committed = Image.open(real._PICTURE).convert("L")
    assert fresh.size == committed.size
    difference = np.abs(np.asarray(fresh, dtype=int) - np.asarray(committed, dtype=int)).mean()
    assert difference < 0.05, "run real.draw() again"


def test_every_score_is_told_with_its_control_and_its_halves(monkeypatch):
    shown = []
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    monkeypatch.setattr("IPython.display.display", lambda bundle, raw=False: shown.append(bundle))
    assert real_heads() is None
    picture, words = shown
    said = " ".join(words["text/plain"].split())
    image = re.search(r'alt="(.*?)" .*max-width: (\d+)px', picture["text/html"], re.DOTALL)
    assert html.unescape(image[1]) == real.summary_of(REPORT) and int(image[2]) <= 930
    for relation in REPORT["relations"]:
        assert f"{relation['head']}: {relation['says']}, hits {relation['hit']:.2f} (n = {relation['asked']})" in said
        assert f"best fixed distance {relation['best_offset']:.2f}" in said
        assert relation["hit"] > relation["best_offset"] + 0.2 and relation["hit"] > relation["untrained_best"] + 0.2
    assert said.count("halves") == len(REPORT["relations"] + REPORT["not_found"])
    assert "No evidence" in said and "Limits:" in said


def test_nothing_is_shown_while_graded(monkeypatch, capsys):
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    assert real_heads() is None and not capsys.readouterr().out
