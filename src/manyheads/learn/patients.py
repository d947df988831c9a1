"""Four modules that look healthy: right names, right shapes, no error. Each has one fault, to be found by experiment."""

import math

from torch import Tensor, nn
from torch.nn import functional as F


def patient(letter: str, d_model: int, num_heads: int, dropout: float = 0.1) -> nn.Module:
    """Module "A", "B", "C" or "D" of lesson 05, with the interface of ``MultiHeadAttention`` and one fault.

    Raises ValueError for another letter. The cause is for you to find: load weights, call it, compare.
    """
    if letter not in _WARD:
        raise ValueError(f"the modules are {', '.join(_WARD)}, not {letter!r}")
    return _WARD[letter](d_model, num_heads, dropout)


class _Patient(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads, self.rate, self.attention_weights = num_heads, dropout, None
        for name in ("W_q", "W_k", "W_v", "W_o"):
            setattr(self, name, nn.Linear(d_model, d_model))

    def __repr__(self) -> str:
        return "a MultiHeadAttention with one fault"

    def _cut(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.num_heads, -1)).movedim(-2, 1)

    def _share(self, scores: Tensor) -> Tensor:
        return scores.softmax(-1)

    def _hide(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return scores if mask is None else scores.masked_fill(mask == 0, -math.inf)

    def _drop(self, weights: Tensor) -> Tensor:
        return F.dropout(weights, self.rate, self.training)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = (self._cut(layer(x)) for layer, x in ((self.W_q, query), (self.W_k, key), (self.W_v, value)))
        self.attention_weights = self._share(self._hide(q @ k.mT / math.sqrt(q.shape[-1]), mask))
        heads = self._drop(self.attention_weights) @ v
        return self.W_o(heads.movedim(1, -2).flatten(-2))


class _Second(_Patient):
    def _drop(self, weights):
        return F.dropout(weights, self.rate)


class _Fourth(_Patient):
    def _hide(self, scores, mask):
        return scores if mask is None else scores.masked_fill(mask != 0, -math.inf)


class _First(_Patient):
    def _cut(self, x):
        batch, seq, _ = x.shape
        return x.reshape(batch, self.num_heads, seq, -1)


class _Third(_Patient):
    def _share(self, scores):
        return (scores / math.sqrt(self.num_heads)).softmax(-1)


_WARD = {"A": _First, "B": _Second, "C": _Third, "D": _Fourth}
