"""Small sentences with numbers that work out by hand."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class RunningExample:
    """*student delivered book library yesterday*: 5 tokens, d_model = 6, made for num_heads = 2, so d_k = 3.

    ``X`` is (seq, d_model) = (5, 6). The matrices are used from the right, ``X @ W_Q``, without biases, all (6, 6).
    """

    tokens: tuple[str, ...]
    features: tuple[str, ...]
    X: Tensor
    W_Q: Tensor
    W_K: Tensor
    W_V: Tensor
    W_O: Tensor


@dataclass(frozen=True)
class Sentence:
    """A sentence as words and as numbers: ``X`` is (seq, d_model), one row a word, one column a feature."""

    text: str
    tokens: tuple[str, ...]
    features: tuple[str, ...]
    X: Tensor


def running_example() -> RunningExample:
    """The example that returns in every lesson.

    The first three features mark the role of a word and drive W_Q and W_K; the last three are its content and drive W_V.
    Head 1 (index 0) joins verb and subject, head 2 (index 1) verb and object: 3.1/√3 = 1.79 and e^1.79 is about 6,
    so these rows put 0.6 on their target and 0.1 on each other word; all other rows are even, 0.2.
    """
    X = torch.tensor(
        [
            # verb subject object | content
            [0, 1, 0, 2, 0, 0],  # student
            [1, 0, 0, 2, 1, 0],  # delivered
            [0, 0, 1, 0, 2, 0],  # book
            [0, 0, 0, 0, 0, 2],  # library
            [0, 0, 0, 0, 1, 2],  # yesterday
        ],
        dtype=torch.float32,
    )
    no_feature = [[0.0] * 6] * 3
    W_Q = torch.tensor(
        [
            [1.0, 0, 0, 1, 0, 0],  # a verb asks in both heads
            [0, 1, 0, 0, 0, 0],  # a subject asks in head 1
            [0, 0, 0, 0, 1, 0],  # an object asks in head 2
            *no_feature,
        ]
    )
    W_K = torch.tensor(
        [
            [0, 3.1, 0, 0, 3.1, 0],  # a verb answers subjects in head 1, objects in head 2
            [3.1, 0, 0, 0, 0, 0],  # a subject answers verbs in head 1
            [0, 0, 0, 3.1, 0, 0],  # an object answers verbs in head 2
            *no_feature,
        ]
    )
    keep = torch.eye(3)
    turn = keep.flip(0)
    W_V = torch.cat([torch.zeros(3, 6), 5 * torch.cat([keep, turn], dim=1)])
    W_O = torch.cat([torch.cat([keep, keep], dim=1), torch.cat([turn, -turn], dim=1)]) / 2
    return RunningExample(
        tokens=("student", "delivered", "book", "library", "yesterday"),
        features=("verb", "subject", "object", "c1", "c2", "c3"),
        X=X,
        W_Q=W_Q,
        W_K=W_K,
        W_V=W_V,
        W_O=W_O,
    )


_TEXTS = {
    "book": "The student delivered the book to the library yesterday.",
    "bank": "The tired runner drank water from the river bank.",
}
_FEATURES = ("determiner", "preposition", "modifier", "verb", "person", "thing", "place", "time")
# Made by hand: 2 = what the word is, 1 = what it also has something of.
_WORDS = {
    "the": {"determiner": 2},
    "to": {"preposition": 2, "place": 1},
    "from": {"preposition": 2, "place": -1},
    "tired": {"modifier": 2, "person": 1},
    "river": {"modifier": 1, "place": 2},
    "delivered": {"verb": 2, "thing": 1},
    "drank": {"verb": 2, "person": 1},
    "student": {"person": 2, "thing": -1},
    "runner": {"person": 2, "verb": 1},
    "book": {"thing": 2},
    "water": {"thing": 2, "place": 1},
    "library": {"place": 2, "thing": 1},
    "bank": {"place": 2, "thing": -1},
    "yesterday": {"time": 2},
}


def sentence(name: str) -> Sentence:
    """One of the two sentences of lesson 01, ``"book"`` or ``"bank"``: lower-case words, d_model = 8.

    The numbers are made by hand: a feature says what kind of word it is. There are no positions, so the three
    *the* of the first sentence are one and the same row. Raises ValueError for any other name.
    """
    if name not in _TEXTS:
        raise ValueError(f"sentence() knows {' and '.join(map(repr, _TEXTS))}, not {name!r}")
    text = _TEXTS[name]
    tokens = tuple(text.lower().rstrip(".").split())
    X = torch.tensor([[float(_WORDS[token].get(feature, 0)) for feature in _FEATURES] for token in tokens])
    return Sentence(text=text, tokens=tokens, features=_FEATURES, X=X)
