"""Heads of a real trained model, measured: the picture, the scores and what they were compared with.

benchmarks/real_heads.py makes both files in data/ from the model's weights.
"""

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from .mode import demonstration
from .palette import WEIGHT_MAP, head_colour, ink_on
from .pictures import NOTEBOOK_WIDTH, figure_png, new_figure, show_png

if TYPE_CHECKING:
    from torch import Tensor

STORE = Path(__file__).parent / "data" / "real_heads.json"
_PICTURE = STORE.with_suffix(".png")
_COLUMNS = 4


@demonstration
def real_heads() -> None:
    """Show eight heads of a real model on three sentences, and tell their scores, the controls and the limits."""
    show_png(_PICTURE.read_bytes(), summary_of(_report()))


@demonstration
def named_heads() -> None:
    """Show a table of the heads that have a name: the measured score, what it is compared with, and what is not there."""
    from IPython.display import display

    table = table_of(_report())
    display({"text/markdown": table, "text/plain": table}, raw=True)


def annotated_sentences() -> tuple[str, ...]:
    """The 18 sentences on which the heads were scored, with relations marked by one person."""
    return tuple(_report()["texts"])


def pattern_scores() -> "dict[str, Tensor]":
    """Scores (6, 12) of every head of the whole model for simple patterns, over the annotated sentences.

    Mean weight of a word (not of [CLS] or [SEP]) on the word before, the word after, itself, the first token and, for
    words that come again, their other copies; ``"spread"`` is the entropy as a share of the largest possible.
    The numbers are stored. :mod:`manyheads.learn.trained` runs the first three layers, rows 0 to 2.
    """
    import torch

    return {pattern: torch.tensor(scores) for pattern, scores in _report()["patterns"].items()}


def head_scores(layer: int, head: int) -> tuple[str, str]:
    """The name of a head, counted from 1, and its scores in a sentence; without a name, its largest simple score."""
    report, named = _report(), f"L{layer}H{head}"
    names, scores = [], []
    for place in (one for one in report["places"] if one["head"] == named):
        names.append(place["says"])
        scores.append(f"Mean weight {place['mean_weight']:.2f} (even weights {report['uniform_weight']:.2f})")
    if report["broad"]["head"] == named:
        names.append(report["broad"]["says"])
        scores.append(f"Entropy {report['broad']['entropy']:.2f} of the maximum")
    for one in (one for one in report["relations"] if one["head"] == named):
        names.append(one["says"])
        scores.append(f"Hits {one['hit']:.2f} (n = {one['asked']}; best fixed distance {one['best_offset']:.2f})")
    if not names:
        simple = {kind: of[layer - 1][head - 1] for kind, of in report["patterns"].items() if kind != "spread"}
        best = max(simple, key=simple.get)
        names, scores = ["no name"], [f"Its largest simple score: {best} {simple[best]:.2f}"]
    return " · ".join(names), f"{'; '.join(scores)}, on {report['sentences']} sentences."


@cache
def _report() -> dict:
    return json.loads(STORE.read_text(encoding="utf-8"))


def table_of(report: dict) -> str:
    """The named heads of ``report`` as a table in Markdown, with the limits below; every number comes from it."""
    even, sink, broad = f"even weights {report['uniform_weight']:.2f}", report["strongest_sink"], report["broad"]
    rows = [[p["head"], p["says"], f"mean weight {p['mean_weight']:.2f}", even, ""] for p in report["places"]]
    first_token = "each word looks at the first token: the strongest of all 72 (not among the layers that run here)"
    rows.append([sink["head"], first_token, f"mean weight {sink['mean_weight']:.2f}", even, ""])
    rows.append([broad["head"], broad["says"], f"entropy {broad['entropy']:.2f} of the maximum", "", ""])
    for relation in report["relations"]:
        far = relation.get("far")
        far = f"; {far['hit']:.2f} at distance {far['distance']} or more (n = {far['asked']})" if far else ""
        hits = f"hits {relation['hit']:.2f} (n = {relation['asked']}){far}"
        control = f"fixed distance {relation['best_offset']:.2f}, untrained {relation['untrained_best']:.2f}"
        rows.append([relation["head"], relation["says"], hits, control, _halves(relation)])
    lines = ["| head | in code | what it does | score | control | halves |", "|---|---|---|---|---|---|"]
    for name, says, *numbers in rows:
        lines.append(f"| **{name}** | {_index(name)} | {says} | {' | '.join(numbers)} |")
    lines += [
        "",
        f"{report['model']}, measured on {report['sentences']} sentences annotated by one person; the heads were chosen on these"
        " same sentences, hence the halves. *Hits*: the largest weight, the word itself,"
        " [CLS] and [SEP] left out, is on a right word. *Fixed distance*: the best rule of the kind “two words to the left”."
        f" *Untrained*: the best of {report['layers'] * report['heads']} heads with random weights. *Halves*: the best head"
        " was chosen on one half of the sentences and tested on the other.",
        "",
        "Not there:",
        "",
    ]
    for relation in report["not_found"]:
        lines.append(
            f"- {relation['says']}: the best head, {relation['head']}, has hits {relation['hit']:.2f}, a fixed distance"
            f" {relation['best_offset']:.2f}. No evidence for a head of its own."
        )
    lines += [
        _pairs(report["pairs"]),
        "",
        f"[CLS] takes {report['mean_weight_on_cls']:.0%} of all weight. Cutting any one head hardly changes the sentence"
        f" embedding (median cosine {report['median_cosine_after_one_cut']:.3f}).",
    ]
    return "\n".join(lines)


def _pairs(pairs: list[dict]) -> str:
    """What became of the sentences in which only the meaning of the last word tells what *it* stands for."""
    one, other = pairs[0]["sentences"]
    found = "; ".join(", ".join(pair["heads_right_on_both"]) or "none" for pair in pairs)
    return (
        f"- *it* where only the meaning tells its noun (“{one}” / “… {other.split()[-1]}”): heads right on both sentences,"
        f" in {len(pairs)} such pairs: {found}. No head solves this: none is right in more than one pair."
    )


def _index(head: str) -> str:
    layer, index = (int(number) - 1 for number in head[1:].split("H"))
    return f"layer {layer}, head {index}"


def summary_of(report: dict) -> str:
    """The scores of ``report`` in words; every number comes from it."""
    sentences = f"{report['sentences']} sentences annotated by one person"
    lines = [
        f"Heads of {report['model']} ({report['layers']} layers, {report['heads']} heads each), L1H3 = layer 1, head 3,"
        f" chosen from {report['layers'] * report['heads']} heads on {sentences} ({report['words']} words and marks)."
    ]
    for place in report["places"]:
        lines.append(
            f"- {place['head']}: {place['says']}, mean weight {place['mean_weight']:.2f}"
            f" (even weights: {report['uniform_weight']:.2f})"
        )
    lines.append(
        "The others by hits: how often the largest weight, the word itself, [CLS] and [SEP] left out, is on a right word."
        " Halves: the best head was chosen on one half of the sentences and tested on the other."
    )
    lines += [f"- {_relation(relation)}" for relation in report["relations"]]
    lines.append("No evidence for a head of its own, since looking a fixed distance away does about as well:")
    lines += [f"- {_relation(relation)}" for relation in report["not_found"]]
    lines.append(
        f"Limits: few sentences, one model. [CLS] takes {report['mean_weight_on_cls']:.0%} of all weight (a sink)."
        " Cutting any one head hardly changes the sentence embedding"
        f" (median cosine {report['median_cosine_after_one_cut']:.3f})."
    )
    return "\n".join(lines)


def _relation(relation: dict) -> str:
    far = relation.get("far")
    far = f"; {far['hit']:.2f} at distance {far['distance']} or more (n = {far['asked']})" if far else ""
    return (
        f"{relation['head']}: {relation['says']}, hits {relation['hit']:.2f} (n = {relation['asked']}){far};"
        f" best fixed distance {relation['best_offset']:.2f}; best untrained head {relation['untrained_best']:.2f};"
        f" halves {_halves(relation)}"
    )


def _halves(relation: dict) -> str:
    """The scores on the half that did not choose, with the names of the chosen heads where they are not the same."""
    (one, one_score), (other, other_score) = relation["chosen_on_one_half_tested_on_the_other"]
    if {one, other} == {relation["head"]}:
        return f"{one_score:.2f} and {other_score:.2f}"
    return f"{one} {one_score:.2f} and {other} {other_score:.2f}"


def draw() -> None:
    """Draw the stored weights again and write data/real_heads.png."""
    _PICTURE.write_bytes(figure_png(_figure(_report()["drawn"])))


def _figure(drawn: list[dict]):
    rows = -(-len(drawn) // _COLUMNS)
    figure = new_figure(NOTEBOOK_WIDTH, 330 * rows)
    axes = figure.subplots(rows, _COLUMNS, squeeze=False)
    for index, (axis, head) in enumerate(zip(axes.flat, drawn, strict=True)):
        tokens, colour = head["tokens"], head_colour(int(head["head"].split("H")[1]) - 1)
        image = axis.imshow(head["weights"], cmap=WEIGHT_MAP, vmin=0, vmax=1, interpolation="nearest")
        badge = {"facecolor": colour, "edgecolor": "none", "boxstyle": "round,pad=0.3"}
        axis.set_title(f"{head['head']}\n{head['says']}", fontsize=10, color=ink_on(colour), bbox=badge, pad=9)
        for side in axis.spines.values():
            side.set(color=colour, linewidth=2)
        # The words stand beside the first of several pictures of one sentence; another sentence brings its own, on the right.
        first = index % _COLUMNS == 0
        same_as_left = not first and tokens == drawn[index - 1]["tokens"]
        axis.set_xticks(range(len(tokens)), tokens, rotation=90, fontsize=9)
        axis.set_yticks(range(len(tokens)), tokens, fontsize=9)
        on_right = not first and not same_as_left
        axis.tick_params(length=2, labelleft=first, labelright=on_right, right=on_right)
        for query, keys in head["right"]:
            ring = {"markersize": 6, "markerfacecolor": "none", "markeredgecolor": "white", "markeredgewidth": 1.4}
            axis.plot(keys, [query] * len(keys), "o", **ring)
        if index + _COLUMNS >= len(drawn):
            axis.set_xlabel("key: the word looked at", fontsize=9)
    figure.get_layout_engine().set(h_pad=0.08)
    figure.supylabel("query: the word that looks", fontsize=10)
    bar = figure.colorbar(image, ax=axes, location="bottom", fraction=0.03, pad=0.02, aspect=50)
    bar.set_label("attention weight          ○ a right answer, marked by hand", fontsize=10)
    return figure
