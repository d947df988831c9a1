"""An explorer of masks: who may look at whom, and the weights that come out, a fully blocked row among them."""

import math

from .drawing import INK, MARGIN, PAPER, escaped, svg_picture, text, weight_colour
from .explorers import choice, explore, slider
from .mode import demonstration
from .palette import ink_on

MASKS = ("none", "padding", "causal", "both")
PLACES = ("at the end", "in front")
#: What is done to blocked scores, and what a row then holds in which everything is blocked.
BLOCKED = ("-1e9: even weights", "-infinity: NaN", "this course: 0")
_WORDS = ("student", "delivered", "book", "library", "yesterday")
_FILLING = "[PAD]"


@demonstration
def masks_explorer() -> None:
    """Show a mask and the weights of head 1 of the running example under it, with lists to choose the mask.

    The saved notebook keeps a static picture of a causal mask with two filling tokens in front.
    """
    explore(
        [
            choice("mask", MASKS, "both"),
            slider("filling", 2, 0, 5),
            choice("where", PLACES, "in front"),
            choice("blocked", BLOCKED, BLOCKED[0]),
        ],
        lambda *options: (masks_svg(*options), masks_sentence(*options)),
        min_height="420px",
    )


def _tokens(filling: int, place: str) -> list[str]:
    """Five places, of which ``filling`` hold no word."""
    words, empty = list(_WORDS[: 5 - filling]), [_FILLING] * filling
    return empty + words if place == "in front" else words + empty


def _rows(mask: str, filling: int, place: str) -> list[list[bool]]:
    """Row: who looks. True: may look."""
    tokens = _tokens(filling, place)
    return [
        [
            (mask in ("none", "causal") or key_token != _FILLING) and (mask in ("none", "padding") or key <= query)
            for key, key_token in enumerate(tokens)
        ]
        for query in range(5)
    ]


def _weights(mask: str, filling: int, place: str, blocked: str) -> list[list[float]]:
    from .toy import running_example

    example = running_example()
    scores = (example.X @ example.W_Q[:, :3]) @ (example.X @ example.W_K[:, :3]).T / math.sqrt(3)
    order = [_WORDS.index(token) if token in _WORDS else None for token in _tokens(filling, place)]
    weights = []
    for query, row in zip(order, _rows(mask, filling, place), strict=True):
        exps = [
            open_ * math.exp(scores[query, key]) if query is not None and key is not None else float(open_)
            for key, open_ in zip(order, row, strict=True)
        ]
        nothing = {BLOCKED[0]: 1 / 5, BLOCKED[1]: math.nan, BLOCKED[2]: 0.0}[blocked]
        weights.append([one / sum(exps) if any(row) else nothing for one in exps])
    return weights


def masks_sentence(mask: str, filling: int, place: str, blocked: str) -> str:
    """The mask in words, its polarity and what became of fully blocked rows."""
    who = {
        "none": "No mask: every token looks at every token, the filling too.",
        "padding": "Padding mask: nobody looks at the filling [PAD]. The filling itself still looks, and its rows are ignored later.",
        "causal": "Causal mask: each token looks at itself and at earlier ones only.",
        "both": "Padding and causal, joined by &: a token looks where both masks allow it.",
    }[mask]
    rows = _rows(mask, filling, place)
    shut = [query + 1 for query, row in enumerate(rows) if not any(row)]
    lines = [f"{who} {sum(map(sum, rows))} of 25 pairs may look. Polarity: 1 (True) means may look, 0 (False) means blocked."]
    if shut:
        named = f"Row {shut[0]} has" if len(shut) == 1 else f"Rows {', '.join(map(str, shut))} have"
        result = {
            BLOCKED[0]: "-1e9 in every place is a tie, and the softmax gives even weights, 0.20: on blocked keys.",
            BLOCKED[1]: "minus infinity in every place gives NaN, which spreads through the rest of the model.",
            BLOCKED[2]: "the convention of this course sets its weights to 0, so its output is 0.",
        }[blocked]
        lines.append(f"{named} no open key. {result[0].upper()}{result[1:]}")
    else:
        lines.append("Every row has an open key, so every row sums to 1.")
    return "\n".join(lines)


def masks_svg(mask: str, filling: int, place: str, blocked: str) -> str:
    """The mask (left) and the weights under it (right); 0, 1 and the weights stand in the cells as numbers."""
    tokens, rows = _tokens(filling, place), _rows(mask, filling, place)
    weights, cell, top, left = _weights(mask, filling, place, blocked), 44, 96, MARGIN + 90
    parts = [text(left, 60, "mask: 1 may look, 0 blocked"), text(left + 330, 60, "weights of head 1")]
    for x, numbers in ((left, rows), (left + 330, weights)):
        for query, row in enumerate(numbers):
            y = top + cell * query
            parts.append(text(x - 8, y + 27, tokens[query], "text-anchor: end; font-size: 12px"))
            for key, value in enumerate(row):
                may_look = rows[query][key]
                shown, fill, ink = (str(int(value)), "none", INK) if numbers is rows else _weight(value)
                style = f"fill: {fill if numbers is not rows or may_look else 'var(--jp-layout-color3, #bdbdbd)'}"
                parts.append(
                    f'<rect x="{x + cell * key}" y="{y}" width="{cell}" height="{cell}" data-may-look="{int(may_look)}" '
                    f'style="{style}; stroke: {PAPER if numbers is weights else INK}">'
                    f"<title>{escaped(tokens[query])} → {escaped(tokens[key])} {shown}</title></rect>"
                    + text(x + cell * (key + 0.5), y + 27, shown, f"text-anchor: middle; font-size: 12px; fill: {ink}")
                )
            if not any(rows[query]):
                parts.append(
                    f'<rect x="{x - 3}" y="{y + 3}" width="{5 * cell + 6}" height="{cell - 6}" data-blocked-row="{query + 1}" '
                    f'style="fill: none; stroke: {INK}; stroke-width: 2; stroke-dasharray: 6 4"/>'
                )
        for key, token in enumerate(tokens):
            parts.append(text(x + cell * (key + 0.5), top - 8 - 12 * (key % 2), token, "text-anchor: middle; font-size: 10.5px"))
    parts.append(text(left, top + 5 * cell + 22, "row: who looks · column: who is looked at", "font-size: 12px"))
    if not all(map(any, rows)):
        parts.append(text(left + 330, top + 5 * cell + 22, "dashed frame: a fully blocked row", "font-size: 12px"))
    return svg_picture(f"mask: {mask}", masks_sentence(mask, filling, place, blocked), top + 5 * cell + 40, parts)


def _weight(value: float) -> tuple[str, str, str]:
    """What is written, on which colour, in which ink."""
    if math.isnan(value):
        return "NaN", "none", INK
    return f"{value:.2f}", weight_colour(value), ink_on(weight_colour(value))
