"""Heads of a real trained model, measured: the picture, the scores and what they were compared with.

benchmarks/real_heads.py makes both files in data/ from the model's weights.
"""

import json
from pathlib import Path

from .mode import demonstration
from .palette import WEIGHT_MAP, head_colour, ink_on
from .pictures import NOTEBOOK_WIDTH, figure_png, new_figure, show_png

STORE = Path(__file__).parent / "data" / "real_heads.json"
_PICTURE = STORE.with_suffix(".png")
_COLUMNS = 4


@demonstration
def real_heads() -> None:
    """Show eight heads of a real model on three sentences, and tell their scores, the controls and the limits."""
    show_png(_PICTURE.read_bytes(), summary_of(json.loads(STORE.read_text())))


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
    (one, one_score), (other, other_score) = relation["chosen_on_one_half_tested_on_the_other"]
    halves = f"halves {one_score:.2f} and {other_score:.2f}"
    if {one, other} != {relation["head"]}:
        halves = f"halves {one} {one_score:.2f} and {other} {other_score:.2f}"
    far = relation.get("far")
    far = f"; {far['hit']:.2f} at distance {far['distance']} or more (n = {far['asked']})" if far else ""
    return (
        f"{relation['head']}: {relation['says']}, hits {relation['hit']:.2f} (n = {relation['asked']}){far};"
        f" best fixed distance {relation['best_offset']:.2f}; best untrained head {relation['untrained_best']:.2f}; {halves}"
    )


def draw() -> None:
    """Draw the stored weights again and write data/real_heads.png."""
    _PICTURE.write_bytes(figure_png(_figure(json.loads(STORE.read_text())["drawn"])))


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
