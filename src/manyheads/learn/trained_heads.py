"""An explorer of the heads of a real trained model: layer, head and any sentence, with the head's name and score."""

from functools import lru_cache

import numpy as np

from .drawing import row_in_words, svg_picture, weight_maps
from .explorers import choice, explore, offer, sentence_box, slider, words_to_mark
from .heatmaps import summary
from .mode import demonstration
from .real import head_scores
from .trained import HEADS, SENTENCE, Reading, between_words, read_sentence

MOST_TOKENS = 20
_LAYERS = 3
_SPECIAL = ("[CLS]", "[SEP]")


@demonstration
def trained_heads_explorer(layer: int = 1, head: int = 9, sentence: str = SENTENCE) -> None:
    """Show one head of the trained model on any sentence; ``layer`` 1 to 3 and ``head`` 1 to 12, as in the name L1H9.

    The special tokens can be hidden, a word's row marked. The saved notebook keeps a static picture of the start.
    """
    import ipywidgets as widgets

    text, layers, heads = sentence_box(sentence), slider("layer", layer, 1, _LAYERS), slider("head", head, 1, HEADS)
    special = widgets.Checkbox(True, description="show special tokens", indent=True)
    word = choice("word", [("none", 0)])

    def adjust() -> None:
        offer(word, words_to_mark(_drawn(_reading(text.value), special.value)[0]))

    explore([text, layers, heads, special, word], _picture, adjust)


def _picture(text: str, layer: int, head: int, special: bool, word: int) -> tuple[str, str]:
    """``word`` is an entry of its list: 0 for none."""
    options = (text, layer, head, special, word - 1 if word else None)
    return trained_heads_svg(*options), trained_heads_sentence(*options)


def trained_heads_svg(text: str, layer: int, head: int, special: bool = True, word: int | None = None) -> str:
    """The map of one head on ``text``; layer and head are counted from 1, ``word`` is the place of the row to mark."""
    told = trained_heads_sentence(text, layer, head, special, word)
    tokens, weights, _ = _drawn(_reading(text), special)
    title = f"L{layer}H{head} (in code: layer {layer - 1}, head {head - 1})"
    if not tokens:
        return svg_picture(f"{title}: nothing to draw", told, 40, [])
    parts, height = weight_maps(tokens, weights[layer - 1, head - 1][None], [head - 1], row=word)
    return svg_picture(f"{title}: {head_scores(layer, head)[0]}", told, height, parts)


def trained_heads_sentence(text: str, layer: int, head: int, special: bool = True, word: int | None = None) -> str:
    """The head's name and score, what it does on this text, and what to know about the picture; one line each."""
    reading = _reading(text)
    tokens, weights, notes = _drawn(reading, special)
    if not tokens:
        return "Type a sentence: there is no word to draw."
    weights = weights[layer - 1, head - 1]
    name, score = head_scores(layer, head)
    lines = [f"L{layer}H{head}: {name}. {score}", f"On this sentence: {summary(weights, tokens).split(': ', 1)[1]}."]
    whole = reading.attention[layer - 1, head - 1]
    if special:
        lines.append(between_words(whole, reading.tokens))
    else:
        lines.append(
            "Hiding the special tokens renormalises: each row is divided by the weight that stays, so that it sums to 1 again."
            f" They held {1 - whole[1:-1, 1:-1].sum(-1).mean():.0%} of the words' weight here: what is left looks stronger than it is."
        )
    if word is not None:
        lines.append(f"{row_in_words(tokens, weights, word)}.")
    return "\n".join([*lines, *notes])


@lru_cache(maxsize=32)
def _reading(text: str) -> Reading:
    """Moving a slider must not read the sentence again."""
    return read_sentence(text)


def _drawn(reading: Reading, special: bool) -> tuple[list[str], np.ndarray, list[str]]:
    """Tokens, weights (layers, heads, seq, seq) as they are drawn, and notes about what is not."""
    kept = [place for place, token in enumerate(reading.tokens) if special or token not in _SPECIAL]
    weights, notes = reading.attention.numpy(), [f"Note: {note}" for note in reading.notes]
    if len(kept) > MOST_TOKENS:
        notes.append(f"Only the first {MOST_TOKENS} of {len(kept)} tokens are drawn; the others keep their weight.")
    weights = weights[:, :, kept][..., kept]
    weights = weights / weights.sum(-1, keepdims=True)
    kept = kept[:MOST_TOKENS]
    return [reading.tokens[place] for place in kept], weights[..., : len(kept), : len(kept)], notes
