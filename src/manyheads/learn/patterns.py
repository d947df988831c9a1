"""Heatmaps of heads with random projections: an explorer with sliders and a sentence box, and a static twin.

They are the control for every story about a trained head: the numbers are drawn at random, so the patterns mean nothing.
"""

import html
import zlib
from functools import cache

import numpy as np

from .content import STYLE, show
from .explorers import INK, PAPER, WIDTH, split_sentence
from .mode import demonstration
from .palette import WEIGHT_MAP, head_colour
from .pictures import svg_image

SENTENCE = "student delivered book library yesterday"
MOST_WORDS, MOST_LETTERS = 12, 12
MARGIN, GAP = 20, 14
NO_MEANING = "random: the pattern has no meaning"


@demonstration
def patterns_picture(sentence: str = SENTENCE, d_model: int = 16, num_heads: int = 4) -> None:
    """Show a heatmap for each head with *random* projections of a sentence: an SVG and its words.

    Raises ValueError unless both counts are whole numbers of at least 1. A head count that does not divide is no error:
    the picture says why it cannot be.
    """
    show(_static_panel(sentence, d_model, num_heads), patterns_sentence(sentence, d_model, num_heads))


@demonstration
def patterns_explorer(sentence: str = SENTENCE, d_model: int = 16, num_heads: int = 4) -> None:
    """Show sliders for ``d_model`` and ``num_heads`` and a box for a sentence above the picture of ``patterns_picture``.

    The saved notebook keeps a static picture of the start values. It hides itself while the live one stands above it.
    """
    import ipywidgets as widgets  # here: grading does not pay for it
    from IPython.display import display

    wide = widgets.Layout(width="40em")
    inputs = [
        widgets.Text(value=sentence, description="sentence", layout=wide),
        widgets.IntSlider(value=d_model, min=2, max=64, description="d_model", layout=wide),
        widgets.IntSlider(value=num_heads, min=1, max=16, description="num_heads", layout=wide),
    ]
    picture = widgets.HTML(_live_panel(sentence, d_model, num_heads))

    # The browser holds changes back while the kernel is busy and sends the newest only, so every call may draw.
    def draw(_) -> None:
        picture.value = _live_panel(*(one.value for one in inputs))

    for one in inputs:
        one.observe(draw, "value")
    explorer = widgets.VBox([*inputs, picture])
    explorer.add_class("manyheads-live")
    display(explorer)

    label = f"Static picture (d_model = {d_model}, num_heads = {num_heads})"
    folded = f"<summary>{label}</summary>{_static_panel(sentence, d_model, num_heads)}"
    show(
        f'{STYLE}\n<details open class="manyheads manyheads-static">{folded}</details>',
        f"{label}: {patterns_sentence(sentence, d_model, num_heads)}",
    )


def _live_panel(sentence: str, d_model: int, num_heads: int) -> str:
    return f"{patterns_svg(sentence, d_model, num_heads)}\n<p>{_escaped(patterns_sentence(sentence, d_model, num_heads))}</p>"


def _static_panel(sentence: str, d_model: int, num_heads: int) -> str:
    words = patterns_sentence(sentence, d_model, num_heads)
    return f"{svg_image(patterns_svg(sentence, d_model, num_heads), words, width=WIDTH)}\n<p>{_escaped(words)}</p>"


def words_of(sentence: str) -> tuple[list[str], str]:
    """The words to draw, and what to say about those that are left out."""
    words = sentence.split()
    note = f" Only the first {MOST_WORDS} of {len(words)} words are drawn." if len(words) > MOST_WORDS else ""
    return words[:MOST_WORDS], note


def random_maps(sentence: str, d_model: int, num_heads: int) -> np.ndarray:
    """Weights (num_heads, seq, seq) of heads with random word vectors and random projections; no positions.

    The same arguments give the same numbers, and the same word always has the same vector. Features of queries and keys
    have variance 1. ``num_heads`` must divide ``d_model``.
    """
    words, _ = words_of(sentence)
    vectors = [np.random.default_rng(zlib.crc32(word.lower().encode())).standard_normal(d_model) for word in words]
    X = np.array(vectors).reshape(len(words), d_model)
    projections = np.random.default_rng(d_model).standard_normal((2, d_model, d_model)) / d_model**0.5
    heads = np.stack([X @ projection for projection in projections]).reshape(2, len(words), num_heads, -1)
    scores = np.einsum("nhf,mhf->hnm", *heads) / (d_model // num_heads) ** 0.5
    exps = np.exp(scores - scores.max(-1, keepdims=True))
    return exps / exps.sum(-1, keepdims=True)


def patterns_sentence(sentence: str, d_model: int, num_heads: int) -> str:
    """What the picture says, in words."""
    told = split_sentence(d_model, num_heads)  # raises ValueError for counts that are no counts
    if d_model % num_heads:
        return told
    words, note = words_of(sentence)
    if not words:
        return "Type a sentence: there is no word to draw."
    maps, seq = random_maps(sentence, d_model, num_heads), len(words)
    strongest = []
    for head, weights in enumerate(maps):
        query, key = np.unravel_index(weights.argmax(), weights.shape)
        strongest.append(f"head {head + 1} {words[query]} → {words[key]} {weights[query, key]:.2f}")
    return (
        f"Random projections, d_model = {d_model}, num_heads = {num_heads}, d_k = {d_model // num_heads}: "
        f"{num_heads} {'map' if num_heads == 1 else 'maps'} of {seq} × {seq} weights. Strongest: {'; '.join(strongest)}.{note} "
        f"{NO_MEANING.capitalize()}."
    )


def patterns_svg(sentence: str, d_model: int, num_heads: int) -> str:
    """One heatmap a head on one scale from 0 to 1: rows are the words that look, columns the words looked at.

    Raises ValueError unless both counts are whole numbers of at least 1.
    """
    summary = patterns_sentence(sentence, d_model, num_heads)
    words, _ = words_of(sentence)
    if d_model % num_heads or not words:
        title = f"d_model = {d_model}, num_heads = {num_heads}: nothing to draw"
        drawn, height = [], 40  # the sentence beside the picture says why
    else:
        title = f"d_model = {d_model}, num_heads = {num_heads}, d_k = {d_model // num_heads} · {NO_MEANING}"
        drawn, height = _maps(words, random_maps(sentence, d_model, num_heads))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'aria-label="{_escaped(summary)}" style="width: 100%; max-width: {WIDTH}px; font: 13px sans-serif; fill: {INK}">\n'
        f"<title>{_escaped(title)}</title>\n"
        f'<rect width="{WIDTH}" height="{height:.0f}" rx="4" style="fill: {PAPER}"/>\n'
        f"{_text(MARGIN, 24, title, 'font-weight: bold; font-size: 15px')}\n" + "\n".join(drawn) + "\n</svg>"
    )


# ------------------------------------------------------------------ parts of the picture


def _maps(words: list[str], maps: np.ndarray) -> tuple[list[str], float]:
    """The grid of maps with its labels and scale, and the height of it all."""
    names = [word if len(word) <= MOST_LETTERS else word[: MOST_LETTERS - 1] + "…" for word in words]
    seq, label = len(words), 6.5 * max(map(len, names)) + 8
    columns = min(4, len(maps)) if len(maps) != 6 else 3
    cell = min(34.0, (WIDTH - 2 * MARGIN - label - (columns - 1) * GAP) / (columns * seq), 260 / seq)
    side, small = cell * seq, f"font-size: {min(12.0, max(8.0, cell)):.1f}px"
    first_row, row_height = 72, side + 34
    drawn = _scale()
    for head, weights in enumerate(maps):
        row, column = divmod(head, columns)
        left, top = MARGIN + label + column * (side + GAP), first_row + row * row_height
        drawn.append(f'<g data-head="{head + 1}">')
        drawn.append(_text(left, top - 6, f"head {head + 1}"))
        for (query, key), weight in np.ndenumerate(weights):
            drawn.append(
                f'<rect x="{left + key * cell:.1f}" y="{top + query * cell:.1f}" width="{cell:.1f}" height="{cell:.1f}" '
                f'fill="{weight_colour(weight)}" data-weight="{weight:.2f}"/>'
            )
        drawn.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{side:.1f}" height="{side:.1f}" '
            f'style="fill: none; stroke: {head_colour(head)}; stroke-width: 3"/>'
        )
        if column == 0:
            for place, name in enumerate(names):
                y = top + (place + 0.5) * cell + 4
                drawn.append(_text(left - 6, y, name, f"text-anchor: end; {small}"))
        if head + columns >= len(maps):  # nothing below: the words looked at
            for place, name in enumerate(names):
                x, y = left + (place + 0.5) * cell + 4, top + side + 8
                turned = f'transform="rotate(-90 {x:.1f} {y:.1f})"'
                drawn.append(_text(x, y, name, f"text-anchor: end; {small}", turned))
        drawn.append("</g>")
    rows = -(-len(maps) // columns)
    return drawn, first_row + rows * row_height - 26 + label


def _scale() -> list[str]:
    """What the colours mean, and which side looks."""
    drawn = [_text(MARGIN, 46, "row: the word that looks · column: the word looked at · weight 0", "font-size: 12px")]
    for step in range(21):
        drawn.append(f'<rect x="{390 + 6 * step}" y="36" width="6" height="12" fill="{weight_colour(step / 20)}"/>')
    return [*drawn, _text(522, 46, "1", "font-size: 12px")]


@cache
def _colours() -> list[str]:
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colormaps[WEIGHT_MAP](step)) for step in range(256)]


def weight_colour(weight: float) -> str:
    """The colour of a weight between 0 and 1, the same as in the other heatmaps of the course."""
    return _colours()[round(255 * float(weight))]


def _text(x: float, y: float, content: object, style: str = "", more: str = "") -> str:
    styled = f' style="{style}"' if style else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{styled}{" " + more if more else ""}>{_escaped(content)}</text>'


def _escaped(content: object) -> str:
    return html.escape(str(content))
