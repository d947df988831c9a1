"""Three layers of a real trained model: a sentence in; its tokens, hidden states and the attention of all 36 heads out.

The weights are a cut of all-MiniLM-L6-v2, rounded to 16 bits: data/trained_heads.safetensors, made by
benchmarks/trained_heads.py. In code layers and heads are counted from 0, in names from 1: L1H3 is layer 0, head 2.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

from .heatmaps import _name as name_of
from .heatmaps import plot_head
from .mode import demonstration
from .pictures import NotDrawable
from .tokens import UNKNOWN, word_pieces

STORE = Path(__file__).parent / "data" / "trained_heads.safetensors"
HEADS, EPS = 12, 1e-12
SENTENCE = "The student delivered the book to the library yesterday."


@dataclass(frozen=True, repr=False)
class Reading:
    """What the model makes of a sentence, with [CLS] in front and [SEP] at the end.

    ``hidden`` (layers + 1, seq, d_model): what goes into layer 0, 1, 2, and what comes out of the last.
    ``attention`` (layers, heads, seq, seq): every row sums to 1. ``notes``: what the reader should know, one line each.
    """

    tokens: tuple[str, ...]
    hidden: Tensor
    attention: Tensor
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        shapes = f"hidden {tuple(self.hidden.shape)}, attention {tuple(self.attention.shape)}"
        return "\n".join([" ".join(self.tokens), shapes, *(f"Note: {note}" for note in self.notes)])


@dataclass(frozen=True, repr=False)
class TrainedLayer:
    """One trained attention layer, an input for it, and what it must give.

    ``weights``: ``W_q.weight``, ``W_q.bias`` and so on for W_k, W_v, W_o, in the layout of ``nn.Linear``; float32.
    ``hidden`` (1, seq, d_model) goes in as query, key and value; ``attention_weights`` (1, num_heads, seq, seq) and
    ``output`` (1, seq, d_model) come out, computed from these same weights.
    """

    weights: dict[str, Tensor]
    num_heads: int
    tokens: tuple[str, ...]
    hidden: Tensor
    attention_weights: Tensor
    output: Tensor


def read_sentence(text: str) -> Reading:
    """Read any text with the three layers. Words outside the vocabulary fall apart; ``notes`` says which."""
    if not isinstance(text, str):
        raise TypeError(f"read_sentence takes a sentence, one string, not {type(text).__name__}")
    tokens, notes = _tokens(text)
    weights, vocabulary = _model()
    hidden, attention = _encode(weights, [vocabulary[token] for token in tokens])
    return Reading(tokens, hidden, attention, notes)


def trained_layer(layer: int, text: str = SENTENCE) -> TrainedLayer:
    """The attention of layer 0, 1 or 2 with its weights, its input for ``text`` and the right results.

    Raises ValueError for another layer. The tensors are copies: they may be changed.
    """
    _check_index("layer", layer, len(_layers(_model()[0])))
    weights, reading = _model()[0], read_sentence(text)
    hidden = reading.hidden[layer]
    attention, output, _ = _run_layer(weights, layer, hidden)
    mine = {}
    for name, theirs in (
        ("W_q", "attention.self.query"),
        ("W_k", "attention.self.key"),
        ("W_v", "attention.self.value"),
        ("W_o", "attention.output.dense"),
    ):
        for part in ("weight", "bias"):
            mine[f"{name}.{part}"] = weights[f"encoder.layer.{layer}.{theirs}.{part}"].clone()
    return TrainedLayer(mine, HEADS, reading.tokens, hidden[None].clone(), attention[None], output[None])


@demonstration
def attention_of(layer: int, head: int, text: str = SENTENCE) -> None:
    """Draw what one trained head does with any sentence; layer 0 to 2 and head 0 to 11, as ``find_head`` returns them."""
    _check_index("layer", layer, len(_layers(_model()[0])), NotDrawable)
    _check_index("head", head, HEADS, NotDrawable)
    reading = read_sentence(text)
    weights = reading.attention[layer, head]
    note = "\n".join([between_words(weights, reading.tokens), *(f"Note: {note}" for note in reading.notes)])
    plot_head(weights, reading.tokens, f"L{layer + 1}H{head + 1} (indices {layer}, {head})", note=note)


def between_words(weights: Tensor, tokens: tuple[str, ...], most: int = 6) -> str:
    """The largest weights from one word to another: [CLS], where heads rest, would hide them."""
    between = weights.clone().fill_diagonal_(0)
    between[[0, -1]] = between[:, [0, -1]] = 0
    pairs = [divmod(place, len(tokens)) for place in between.flatten().argsort(descending=True)[:most].tolist()]
    named = [f"{name_of(tokens, q)} -> {name_of(tokens, k)} {weights[q, k]:.2f}" for q, k in pairs if between[q, k] >= 0.1]
    return "Largest weights between two words: " + (", ".join(named) or "none reaches 0.10") + "."


def _check_index(what: str, index: int, count: int, error: type[ValueError] = ValueError) -> None:
    if not 0 <= index < count:
        raise error(f"{what} {index} is not there: in code the {what}s are counted from 0 to {count - 1}")


# --- the model --------------------------------------------------------------------------------------------------


@cache
def _model() -> tuple[dict[str, Tensor], dict[str, int]]:
    """The stored weights by the names of the original, as float32, and the vocabulary {token: row}."""
    from safetensors import safe_open

    with safe_open(STORE, "pt") as file:
        tokens = json.loads(file.metadata()["about"])["vocabulary"].split(" ")
        weights = {name: file.get_tensor(name).float() for name in file.keys()}
    return weights, {token: row for row, token in enumerate(tokens)}


def _tokens(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Tokens with [CLS] and [SEP], not more than there are positions, and the notes about them."""
    weights, vocabulary = _model()
    words = word_pieces(text, vocabulary)
    pieces = [piece for word in words for piece in word]
    notes = []
    room = len(weights["embeddings.position_embeddings.weight"]) - 2
    if not pieces:
        notes.append("There is no word in this text: the model sees its two special tokens only.")
    if len(pieces) > room:
        notes.append(f"This text has {len(pieces)} tokens; only the first {room} are read.")
    broken = list(dict.fromkeys(" ".join(word) for word in words if len(word) > 1))
    if broken:
        named = ", ".join(broken[:4]) + (f" and {len(broken) - 4} more" if len(broken) > 4 else "")
        notes.append(f"Not in the small vocabulary here, so read in pieces: {named}. Heads may do something else there.")
    if UNKNOWN in pieces:
        notes.append(f"{UNKNOWN} stands for a word or sign of which the vocabulary knows no part.")
    return ("[CLS]", *pieces[:room], "[SEP]"), tuple(notes)


def _layers(weights: dict[str, Tensor]) -> range:
    return range(len({name.split(".")[2] for name in weights if name.startswith("encoder.layer.")}))


@torch.no_grad()
def _encode(weights: dict[str, Tensor], ids: list[int]) -> tuple[Tensor, Tensor]:
    """Hidden states (layers + 1, seq, d_model) and attention (layers, heads, seq, seq) of one sentence."""
    x = weights["embeddings.word_embeddings.weight"][ids] + weights["embeddings.token_type_embeddings.weight"][0]
    x = x + weights["embeddings.position_embeddings.weight"][: len(ids)]
    hidden, attention = [_norm(weights, "embeddings.LayerNorm", x)], []
    for layer in _layers(weights):
        looks, _, x = _run_layer(weights, layer, hidden[-1])
        attention.append(looks)
        hidden.append(x)
    return torch.stack(hidden), torch.stack(attention)


@torch.no_grad()
def _run_layer(weights: dict[str, Tensor], layer: int, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Of one layer on x (seq, d_model): attention (heads, seq, seq), the output of W_O, and the output of the whole layer.

    One function on purpose: no piece of it is a solution that a lesson asks for.
    """
    at = f"encoder.layer.{layer}"
    q, k, v = (
        _linear(weights, f"{at}.attention.self.{name}", x).unflatten(-1, (HEADS, -1)).transpose(0, 1)
        for name in ("query", "key", "value")
    )
    attention = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
    output = _linear(weights, f"{at}.attention.output.dense", (attention @ v).transpose(0, 1).flatten(1))
    x = _norm(weights, f"{at}.attention.output.LayerNorm", x + output)
    inner = F.gelu(_linear(weights, f"{at}.intermediate.dense", x))
    return attention, output, _norm(weights, f"{at}.output.LayerNorm", x + _linear(weights, f"{at}.output.dense", inner))


def _linear(weights: dict[str, Tensor], name: str, x: Tensor) -> Tensor:
    return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])


def _norm(weights: dict[str, Tensor], name: str, x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], weights[f"{name}.weight"], weights[f"{name}.bias"], EPS)
