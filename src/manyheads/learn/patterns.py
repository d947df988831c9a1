"""Heatmaps of heads with random projections: an explorer with sliders and a sentence box, and a static twin.

They are the control for every story about a trained head: the numbers are drawn at random, so the patterns mean nothing.
"""

import zlib

import numpy as np

from .drawing import counted, row_in_words, svg_picture, weight_maps
from .explorers import choice, explore, numbered, offer, sentence_box, show_static, slider, words_to_mark
from .mode import demonstration
from .split import split_sentence

SENTENCE = "student delivered book library yesterday"
MOST_WORDS = 16
NO_MEANING = "random: the pattern has no meaning"


@demonstration
def patterns_picture(sentence: str = SENTENCE, d_model: int = 16, num_heads: int = 4, seed: int = 0) -> None:
    """Show a heatmap for each head with *random* projections of a sentence: an SVG and its words.

    Raises ValueError unless both counts are whole numbers of at least 1. A head count that does not divide is no error:
    the picture says why it cannot be.
    """
    show_static(*_picture(sentence, d_model, num_heads, seed))


@demonstration
def patterns_explorer(sentence: str = SENTENCE, d_model: int = 16, num_heads: int = 4) -> None:
    """Show a box for a sentence, sliders for ``d_model``, ``num_heads`` and the seed above the picture of ``patterns_picture``.

    Lists choose a head to enlarge and a word whose row is marked; a click on a map or a word does the same.
    The saved notebook keeps a static picture of the start values. It hides itself while the live one stands above it.
    """
    text, features = sentence_box(sentence), slider("d_model", d_model, 2, 64)
    heads, seed = slider("num_heads", num_heads, 1, 16), slider("seed", 0, 0, 99)
    head, word = choice("head", [("all", 0)]), choice("word", [("none", 0)])

    def adjust() -> None:
        offer(head, numbered("all", [f"head {number + 1}" for number in range(heads.value)]))
        offer(word, words_to_mark(words_of(text.value)[0]))

    explore([text, features, heads, seed, head, word], _picture, adjust)


def _picture(
    sentence: str, d_model: int, num_heads: int, seed: int = 0, head: int = 0, word: int = 0
) -> tuple[str, str]:
    """``head`` and ``word`` are entries of their lists: 0 for all heads and for no word."""
    options = (sentence, d_model, num_heads, seed, head - 1 if head else None, word - 1 if word else None)
    return patterns_svg(*options), patterns_sentence(*options)


def words_of(sentence: str) -> tuple[list[str], str]:
    """The words to draw, and what to say about those that are left out."""
    words = sentence.split()
    note = f" Only the first {MOST_WORDS} of {len(words)} words are drawn." if len(words) > MOST_WORDS else ""
    return words[:MOST_WORDS], note


def random_maps(sentence: str, d_model: int, num_heads: int, seed: int = 0) -> np.ndarray:
    """Weights (num_heads, seq, seq) of heads with random word vectors and random projections; no positions.

    The same arguments give the same numbers, and the same word always has the same vector. Features of queries and keys
    have variance 1. ``num_heads`` must divide ``d_model``.
    """
    words, _ = words_of(sentence)
    vectors = [np.random.default_rng(zlib.crc32(word.lower().encode())).standard_normal(d_model) for word in words]
    X = np.array(vectors).reshape(len(words), d_model)
    projections = np.random.default_rng([seed, d_model]).standard_normal((2, d_model, d_model)) / d_model**0.5
    heads = np.stack([X @ projection for projection in projections]).reshape(2, len(words), num_heads, -1)
    scores = np.einsum("nhf,mhf->hnm", *heads) / (d_model // num_heads) ** 0.5
    exps = np.exp(scores - scores.max(-1, keepdims=True))
    return exps / exps.sum(-1, keepdims=True)


def patterns_sentence(
    sentence: str, d_model: int, num_heads: int, seed: int = 0, head: int | None = None, word: int | None = None
) -> str:
    """What the picture says, in words; ``head`` and ``word`` are the indices of the one enlarged and the one marked."""
    told = split_sentence(d_model, num_heads)  # raises ValueError for counts that are no counts
    if d_model % num_heads:
        return told
    words, note = words_of(sentence)
    if not words:
        return "Type a sentence: there is no word to draw."
    maps, seq = random_maps(sentence, d_model, num_heads, seed), len(words)
    drawn = range(num_heads) if head is None else [head]
    found = []
    for one in drawn:
        query, key = np.unravel_index(maps[one].argmax(), maps[one].shape)
        pair = f"{words[query]} → {words[key]} {maps[one, query, key]:.2f}"
        row = None if word is None else row_in_words(words, maps[one], word, most=3 if head is None else None)
        found.append(f"head {one + 1} {row or pair}" if head is None else f"head {one + 1}: {row or pair}")
    return (
        f"Random projections, d_model = {d_model}, num_heads = {num_heads}, d_k = {d_model // num_heads}: "
        f"{counted(num_heads, 'map')} of {seq} × {seq} weights. {'Strongest: ' if word is None else ''}{'; '.join(found)}.{note} "
        f"{NO_MEANING.capitalize()}."
    )


def patterns_svg(
    sentence: str, d_model: int, num_heads: int, seed: int = 0, head: int | None = None, word: int | None = None
) -> str:
    """One heatmap a head on one scale from 0 to 1: rows are the words that look, columns the words looked at.

    Raises ValueError unless both counts are whole numbers of at least 1.
    """
    summary = patterns_sentence(sentence, d_model, num_heads, seed, head, word)
    words, _ = words_of(sentence)
    if d_model % num_heads or not words:  # the sentence beside the picture says why
        return svg_picture(f"d_model = {d_model}, num_heads = {num_heads}: nothing to draw", summary, 40, [])
    title = f"d_model = {d_model}, num_heads = {num_heads}, d_k = {d_model // num_heads} · {NO_MEANING}"
    drawn = list(range(num_heads)) if head is None else [head]
    parts, height = weight_maps(words, random_maps(sentence, d_model, num_heads, seed)[drawn], drawn, row=word)
    return svg_picture(title, summary, height, parts)
