"""SVG for explorers: the frame of a picture, its text, and maps of attention weights.

An SVG string in an ``HTML`` widget answers a slider faster than a matplotlib figure, follows JupyterLab's theme, and
carries its summary in the DOM, for a screen reader and for a test.
"""

import html
from collections.abc import Sequence
from functools import cache

import numpy as np

from .palette import WEIGHT_MAP, head_colour, ink_on

WIDTH, MARGIN = 720, 20
_GAP, _MOST_LETTERS = 14, 12

# Colours for text and card follow JupyterLab's theme; the fallbacks make a light card that can stand anywhere.
INK = "var(--jp-content-font-color1, #1f1f1f)"
PAPER = "var(--jp-layout-color0, #ffffff)"
REST = "var(--jp-layout-color3, #bdbdbd)"


def svg_picture(title: str, summary: str, height: float, parts: Sequence[str]) -> str:
    """A picture of WIDTH units with its title on top; ``summary`` says the same in words, for those who cannot see it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'aria-label="{escaped(summary)}" style="width: 100%; max-width: {WIDTH}px; font: 13px sans-serif; fill: {INK}">\n'
        f"<title>{escaped(title)}</title>\n"
        f'<rect width="{WIDTH}" height="{height:.0f}" rx="4" style="fill: {PAPER}"/>\n'
        f"{text(MARGIN, 24, title, 'font-weight: bold; font-size: 15px')}\n" + "\n".join(parts) + "\n</svg>"
    )


def text(x: float, y: float, content: object, style: str = "", more: str = "") -> str:
    styled = f' style="{style}"' if style else ""
    return f'<text x="{x:.2f}" y="{y:.2f}"{styled}{" " + more if more else ""}>{escaped(content)}</text>'


def escaped(content: object) -> str:
    return html.escape(str(content))


def badge(x: float, y: float, head: int, width: float = 62) -> str:
    """The name of a head on its colour; ``head`` is its index."""
    colour = head_colour(head)
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width}" height="18" rx="3" style="fill: {colour}"/>'
        + text(x + width / 2, y + 13, f"head {head + 1}", f"text-anchor: middle; font-size: 12px; fill: {ink_on(colour)}")
    )


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


# ------------------------------------------------------------------ maps of weights


def weight_maps(
    words: Sequence[str], maps: np.ndarray, heads: Sequence[int], top: float = 34, row: int | None = None
) -> tuple[list[str], float]:
    """A grid of maps (num_heads, seq, seq) on one scale, and the y where it ends.

    ``heads``: the index of each map's head. Rows are the words that look, columns the words looked at. ``row``: a word whose
    row is marked. data-words, data-percent and data-pick are for the mouse: see explorers.
    """
    names = [word if len(word) <= _MOST_LETTERS else word[: _MOST_LETTERS - 1] + "…" for word in words]
    seq, label = len(words), 6.5 * max(map(len, names)) + 8
    columns = min(4, len(maps)) if len(maps) != 6 else 3
    cell = min(34.0, (WIDTH - 2 * MARGIN - label - (columns - 1) * _GAP) / (columns * seq), (260 if columns > 1 else 440) / seq)
    side, small = cell * seq, f"font-size: {min(12.0, max(8.0, cell)):.1f}px"
    parts, first_row, row_height = _scale(top), top + 38, side + 38
    for place, (head, weights) in enumerate(zip(heads, maps, strict=True)):
        down, across = divmod(place, columns)
        left, high = MARGIN + label + across * (side + _GAP), first_row + down * row_height
        parts.append(f'<g data-head="{head + 1}">{badge(left, high - 20, head)}')
        percent = np.rint(100 * weights).astype(int)
        parts.append(
            f'<g transform="translate({left:.1f} {high:.1f}) scale({cell:.3f})" shape-rendering="crispEdges" '
            f'data-pick="head={head + 1}" data-words="{escaped(" ".join(names))}" '
            f'data-percent="{" ".join(map(str, percent.flatten().tolist()))}">{_cells(percent)}</g>'
        )
        colour = head_colour(head)
        parts.append(
            f'<rect x="{left:.1f}" y="{high:.1f}" width="{side:.1f}" height="{side:.1f}" '
            f'style="fill: none; stroke: {colour}; stroke-width: 3"/>'
        )
        if len(maps) == 1 and cell >= 28:
            for (query, key), weight in np.ndenumerate(weights):
                x, y = left + (key + 0.5) * cell, high + (query + 0.5) * cell + 4
                style = f"text-anchor: middle; font-size: 11px; pointer-events: none; fill: {ink_on(weight_colour(weight))}"
                parts.append(text(x, y, f"{weight:.2f}", style))
        if row is not None:  # two lines, light and dark: seen on every colour below
            frame = f'x="{left - 2:.1f}" y="{high + row * cell - 1:.1f}" width="{side + 4:.1f}" height="{cell + 2:.1f}"'
            for stroke, width in (("#ffffff", 4), ("#000000", 2)):
                parts.append(f'<rect {frame} style="fill: none; stroke: {stroke}; stroke-width: {width}" data-row="{row}"/>')
        if across == 0:
            for word, name in enumerate(names):
                style = f"text-anchor: end; {small}" + ("; font-weight: bold" if word == row else "")
                parts.append(text(left - 6, high + (word + 0.5) * cell + 4, name, style, f'data-pick="word={word + 1}"'))
        if place + columns >= len(maps):  # nothing below: the words looked at
            for word, name in enumerate(names):
                x, y = left + (word + 0.5) * cell + 4, high + side + 8
                parts.append(
                    text(x, y, name, f"text-anchor: end; {small}", f'transform="rotate(-90 {x:.1f} {y:.1f})"')
                )
        parts.append("</g>")
    return parts, first_row + -(-len(maps) // columns) * row_height - 26 + label


def _cells(percent: np.ndarray) -> str:
    """One path for each colour, one unit a cell: 16 maps of 16 words as single elements are too many for a slider."""
    by_weight: dict[int, list[str]] = {}
    for query, row in enumerate(percent.tolist()):
        for key, weight in enumerate(row):
            by_weight.setdefault(weight, []).append(f"M{key} {query}h1v1h-1z")
    return "".join(f'<path fill="{weight_colour(weight / 100)}" d="{"".join(at)}"/>' for weight, at in by_weight.items())


def row_in_words(words: Sequence[str], weights: np.ndarray, row: int, most: int | None = None) -> str:
    """What one word looks at, the largest weight first; ``most`` cuts the list short."""
    order = np.argsort(-weights[row], kind="stable")[:most]
    return f"{words[row]} looks at " + ", ".join(f"{words[key]} {weights[row, key]:.2f}" for key in order)


def _scale(top: float) -> list[str]:
    """What the colours mean, and which side looks."""
    y = top + 12
    parts = [text(MARGIN, y, "row: the word that looks · column: the word looked at · weight 0", "font-size: 12px")]
    for step in range(21):
        parts.append(f'<rect x="{390 + 6 * step}" y="{y - 10:.0f}" width="6" height="12" fill="{weight_colour(step / 20)}"/>')
    return [*parts, text(522, y, "1", "font-size: 12px"), text(544, y, "", "font-size: 12px", "data-readout='' aria-hidden='true'")]


@cache
def _colours() -> list[str]:
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colormaps[WEIGHT_MAP](step)) for step in range(256)]


def weight_colour(weight: float) -> str:
    """The colour of a weight between 0 and 1, the same as in the other heatmaps of the course."""
    return _colours()[round(255 * float(weight))]
