"""Attention weights as heatmaps, with a sentence for each head."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .mode import demonstration
from .palette import WEIGHT_MAP, head_colour, ink_on
from .pictures import NOTEBOOK_WIDTH, NotDrawable, figure_png, new_figure, show_png

if TYPE_CHECKING:
    from torch import Tensor

    Weights = Tensor | np.ndarray | Sequence

_CELL_WITH_NUMBER = 30  # pixels a cell needs to hold "0.60"
_CELL = 12  # pixels a cell needs so that its token can be read on the tick
_LABEL = 150  # pixels that the long label of an axis takes
_AROUND = 125  # pixels for the label of the queries and the colour bar
_EVEN = 0.95  # share of the largest entropy from which a head counts as even; one head of the running example has 0.93


@demonstration
def plot_head(
    weights: Weights,
    tokens: Sequence[str],
    title: str | None = None,
    key_tokens: Sequence[str] | None = None,
    note: str | None = None,
) -> None:
    """Draw the attention weights (seq_q, seq_k) of one head and show its summary.

    ``tokens`` name the queries; ``key_tokens`` name the keys where they differ (cross-attention). ``note`` follows the summary.
    Raises ValueError with one clear line when the input is no picture of weights.
    """
    heads, tokens, key_tokens = _checked(weights, tokens, key_tokens, axes=2)
    cell = min(46, max(_CELL, 420 // max(len(key_tokens), len(tokens))))
    figure = _grid(heads, tokens, key_tokens, [title or ""], columns=1, cell=cell)
    words = _sentence(heads[0], tokens, key_tokens)
    show_png(figure_png(figure), "\n".join([f"{title or 'one head'}: {words}", *([note] if note else [])]))


@demonstration
def plot_heads(
    weights: Weights,
    tokens: Sequence[str],
    titles: Sequence[str] | None = None,
    key_tokens: Sequence[str] | None = None,
    columns: int | None = None,
) -> None:
    """Draw all heads of one sentence, weights (num_heads, seq_q, seq_k), on one shared scale, with a line for each.

    ``titles`` replace "head 1", "head 2", … Raises ValueError with one clear line when the input is no picture of weights.
    """
    heads, tokens, key_tokens = _checked(weights, tokens, key_tokens, axes=3)
    if titles is not None and len(titles) != len(heads):
        raise NotDrawable(f"there are {len(heads)} heads but {len(titles)} titles")
    room = NOTEBOOK_WIDTH - _AROUND - 8 * max(map(len, tokens))
    if columns is None:
        columns = max(1, min(4, len(heads), room // (_CELL * len(key_tokens) + 24)))
    cell = min(46, max(_CELL, (room // columns - 24) // len(key_tokens)))
    figure = _grid(heads, tokens, key_tokens, titles, columns, cell)
    show_png(figure_png(figure), _lines(heads, tokens, key_tokens, titles))


def summary(weights: Weights, tokens: Sequence[str], key_tokens: Sequence[str] | None = None) -> str:
    """Say in one line a head what the weights (num_heads, seq_q, seq_k), or (seq_q, seq_k), do.

    A head is named by the pattern that explains most of its weight, when that pattern holds at least half of the
    weight of the rows it speaks about: the word before, the word after, the word itself, the first token, other
    copies of the same word, or one key that all look at. Rows that have no such target (the first word has no word before it)
    and rows that a mask leaves no choice are not counted. Otherwise: spread evenly, or the strongest pairs.
    """
    axes = 2 if np.ndim(_plain(weights)) == 2 else 3
    return _lines(*_checked(weights, tokens, key_tokens, axes), titles=None)


# --- words ------------------------------------------------------------------------------------------------------


def _lines(heads: np.ndarray, tokens, key_tokens, titles) -> str:
    names = titles or [f"head {i + 1}" for i in range(len(heads))]
    return "\n".join(f"{name}: {_sentence(head, tokens, key_tokens)}" for name, head in zip(names, heads, strict=True))


def _sentence(head: np.ndarray, tokens: list[str], key_tokens: list[str]) -> str:
    """What one head (seq_q, seq_k) does; the rules are told in ``summary``."""
    blocked = ~(head > 0).any(axis=1)
    choices = _choices(head)
    counted = ~blocked & (choices > 1)
    notes = []
    if blocked.any():
        notes.append("nothing allowed for " + ", ".join(tokens[query] for query in np.flatnonzero(blocked)))
    sums = head[~blocked].sum(axis=1)
    if len(sums) and np.abs(sums - 1).max() > 0.01:
        least, most = f"{sums.min():.2f}", f"{sums.max():.2f}"
        notes.append(f"rows sum to {least if least == most else f'{least} to {most}'}, not to 1")

    if not counted.any():
        text = "no row has a choice"
    else:
        text = _pattern(head, tokens, key_tokens, counted) or _spread(head, choices, counted)
        text = text or _strongest(head, tokens, key_tokens, counted)
    return "; ".join([text, *notes])


def _choices(head: np.ndarray) -> np.ndarray:
    """How many keys each query may look at, read from the zeros that a mask leaves: a causal triangle, blocked columns."""
    allowed = np.broadcast_to((head > 0).any(axis=0), head.shape)
    if not np.triu(head, 1).any():
        allowed = np.tril(allowed)
    return allowed.sum(axis=1)


def _pattern(head, tokens, key_tokens, counted) -> str | None:
    best, most = None, 0.0
    for kind, does, target in _targets(tokens, key_tokens):
        rows = counted & target.any(axis=1)
        on_target = (head * target).sum(axis=1)[rows]
        if not len(on_target) or on_target.mean() < 0.5 or on_target.sum() <= most:
            continue
        hits = target[rows, head[rows].argmax(axis=1)]
        if hits.all():
            who = f"each {kind}".replace("words", "word") + " " + does.format(looks="looks", it="it", its="its", itself="itself")
        else:
            share = "most" if hits.mean() > 0.5 else "some"
            who = f"{share} {kind} " + does.format(looks="look", it="them", its="their", itself="themselves")
        best, most = f"{who}, mean weight {on_target.mean():.2f}", on_target.sum()
    return best


def _targets(tokens: list[str], key_tokens: list[str]):
    """The patterns: whom they speak about, what these do, and the cells (seq_q, seq_k) where the weight then lies."""
    n, m = len(tokens), len(key_tokens)
    alike = tokens == key_tokens
    itself = np.eye(n, m, dtype=bool)
    if alike:
        yield "words", "{looks} at the word before {it}", np.eye(n, k=-1, dtype=bool)
        yield "words", "{looks} at the word after {it}", np.eye(n, k=1, dtype=bool)
        yield "words", "{looks} at {itself}", itself
        words = np.array([token.lower() for token in tokens])
        copies = (words[:, None] == words) & ~itself
        repeated = ", ".join(dict.fromkeys(words[copies.any(axis=1)].tolist()))
        yield f"repeated words ({repeated})", "{looks} at {its} other copies", copies
    for key in range(m):
        column = np.zeros((n, m), dtype=bool)
        column[:, key] = True
        name = f"the first token, {key_tokens[0]}" if key == 0 and alike else _name(key_tokens, key)
        yield "words", "{looks} at " + name.replace("{", "{{").replace("}", "}}"), column & ~itself if alike else column


def _spread(head, choices, counted) -> str | None:
    rows = head[counted] / head[counted].sum(axis=1, keepdims=True)
    entropy = -(rows * np.log(rows, where=rows > 0, out=np.zeros_like(rows))).sum(axis=1)
    share = (entropy / np.log(choices[counted])).mean()
    return f"spread evenly, entropy {share:.2f} of the maximum" if share >= _EVEN else None


def _strongest(head, tokens, key_tokens, counted) -> str:
    rows = np.where(counted[:, None], head, 0)
    pairs = np.argwhere(rows >= rows.max() - 0.005)
    named = [f"{_name(tokens, q)} -> {_name(key_tokens, k)} {head[q, k]:.2f}" for q, k in pairs[:3]]
    more = f" and {len(pairs) - 3} more" if len(pairs) > 3 else ""
    return "strongest: " + ", ".join(named) + more


def _name(tokens: list[str], place: int) -> str:
    """The token, with its place when there are several of it."""
    return tokens[place] if tokens.count(tokens[place]) == 1 else f"{tokens[place]} (token {place + 1})"


# --- input ------------------------------------------------------------------------------------------------------


def _plain(weights) -> np.ndarray:
    """Numbers from a tensor (also one with a gradient), an array or nested lists."""
    if hasattr(weights, "detach"):
        weights = weights.detach().cpu().double().numpy()
    try:
        return np.asarray(weights, dtype=float)
    except (TypeError, ValueError):
        raise NotDrawable(f"weights must be a tensor of numbers, not {type(weights).__name__}") from None


def _checked(weights, tokens, key_tokens, axes: int) -> tuple[np.ndarray, list[str], list[str]]:
    """Weights as (num_heads, seq_q, seq_k), and the names of queries and keys; else NotDrawable says what is wrong."""
    heads = _plain(weights)
    wanted = "(seq_q, seq_k)" if axes == 2 else "(num_heads, seq_q, seq_k)"
    if heads.ndim != axes:
        hint = "; pick one sentence of the batch, weights[0]" if heads.ndim == 4 else ""
        hint = "; draw several heads with plot_heads" if (axes, heads.ndim) == (2, 3) else hint
        hint = "; draw one head with plot_head" if (axes, heads.ndim) == (3, 2) else hint
        raise NotDrawable(f"weights must be {wanted}, but they are {heads.shape}{hint}")
    if 0 in heads.shape:
        raise NotDrawable(f"weights {heads.shape} hold no number")
    if isinstance(tokens, str) or isinstance(key_tokens, str):
        raise NotDrawable("tokens must be a list of words, not one string")
    tokens = [str(token) for token in tokens]
    key_tokens = tokens if key_tokens is None else [str(token) for token in key_tokens]
    heads = heads if axes == 3 else heads[None]
    for axis, side, names in ((1, "query", tokens), (2, "key", key_tokens)):
        if heads.shape[axis] != len(names):
            raise NotDrawable(
                f"weights have {heads.shape[axis]} {side} positions, but there are {len(names)} {side} tokens"
            )
    if not np.isfinite(heads).all():
        head, query = np.argwhere(~np.isfinite(heads))[0][:2]
        raise NotDrawable(
            f"head {head + 1} has NaN or infinity in the row of {tokens[query]!r}: is every key blocked there?"
        )
    if heads.min() < -1e-6 or heads.max() > 1 + 1e-4:
        raise NotDrawable(
            f"weights lie between 0 and 1, but these go from {heads.min():.2f} to {heads.max():.2f}:"
            " scores before the softmax, or weights after dropout in train mode?"
        )
    return heads.clip(0, 1), tokens, key_tokens


# --- drawing ----------------------------------------------------------------------------------------------------


def _colour(title: str, index: int | None) -> str:
    """Colour of the head that the title names ("head 2", "L1H3"), else of the head at place ``index``; None: neutral."""
    named = re.search(r"(?i)\bhead (\d+)|\bL\d+H(\d+)", title)
    if named:
        index = int(named[1] or named[2]) - 1
    return "#333333" if index is None else head_colour(index)


def _grid(heads, tokens, key_tokens, titles, columns: int, cell: int):
    """All heads on one scale; queries down the left side, keys along the bottom, one colour bar."""
    rows = math.ceil(len(heads) / columns)
    names_wide, names_high = 8 * max(map(len, tokens)), 8 * max(map(len, key_tokens))
    width = columns * (cell * len(key_tokens) + 24) + names_wide + _AROUND
    height = rows * (cell * len(tokens) + 40) + names_high + 40
    figure = new_figure(width, height)
    axes = figure.subplots(rows, columns, squeeze=False)
    fits = max(6, min(10, 0.62 * cell))
    for index, axis in enumerate(axes.flat):
        if index >= len(heads):
            axis.set_axis_off()
            continue
        image = axis.imshow(heads[index], cmap=WEIGHT_MAP, vmin=0, vmax=1, interpolation="nearest")
        title = f"head {index + 1}" if titles is None else str(titles[index])
        colour = _colour(title, index if len(heads) > 1 else None)
        title = textwrap.fill(title, max(12, (cell * len(key_tokens) + 10) // 8))
        if title:
            badge = {"facecolor": colour, "edgecolor": "none", "boxstyle": "round,pad=0.3"}
            axis.set_title(title, fontsize=10, color=ink_on(colour), bbox=badge, pad=9)
        for side in axis.spines.values():
            side.set(color=colour, linewidth=2)
        axis.set_xticks(range(len(key_tokens)), key_tokens, rotation=90, fontsize=fits)
        axis.set_yticks(range(len(tokens)), tokens, fontsize=fits)
        axis.tick_params(length=2, labelleft=index % columns == 0, labelbottom=index + columns >= len(heads))
        if index % columns == 0:
            axis.set_ylabel("query: the word that looks" if cell * len(tokens) > _LABEL else "query", fontsize=9)
        if index + columns >= len(heads):
            axis.set_xlabel("key: the word looked at" if cell * len(key_tokens) > _LABEL else "key", fontsize=9)
        axis.set_xticks([k + 0.5 for k in range(len(key_tokens) - 1)], minor=True)
        axis.set_yticks([q + 0.5 for q in range(len(tokens) - 1)], minor=True)
        axis.grid(which="minor", color="white", alpha=0.25, linewidth=0.5)
        axis.tick_params(which="minor", length=0)
        if cell >= _CELL_WITH_NUMBER:
            for (q, k), weight in np.ndenumerate(heads[index]):
                ink = "black" if weight > 0.5 else "white"
                axis.text(k, q, f"{weight:.2f}", ha="center", va="center", fontsize=8, color=ink)
    bar = figure.colorbar(image, ax=axes, label="attention weight", fraction=0.05, pad=0.02, aspect=30)
    bar.set_ticks([0, 0.25, 0.5, 0.75, 1])
    return figure
