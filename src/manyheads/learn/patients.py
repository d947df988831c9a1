"""Four modules that look healthy: right names, right shapes, no error. Each has one fault, to be found by experiment."""

import functools
import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .trained import trained_layer

D_MODEL, HEADS, RATE = 384, 12, 0.1

# What each does: the axes after the split, the number under the root, the blocked value of a mask, dropout in eval mode.
_WARD = {
    "A": ("bhnd", 32, 0, False),
    "B": ("bnhd", 32, 0, True),
    "C": ("bnhd", 384, 0, False),
    "D": ("bnhd", 32, 1, False),
}


def patient(letter: str) -> nn.Module:
    """Module "A", "B", "C" or "D" of lesson 05, with the interface of ``MultiHeadAttention`` and one fault.

    d_model is 384, with 12 heads; the weights are those of ``trained_layer(0)``; it comes in eval mode. Raises
    ValueError for another letter. The cause is for you to find: call it, compare.
    """
    if letter not in _WARD:
        raise ValueError(f"the modules are {', '.join(_WARD)}, not {letter!r}")
    module = _Patient(letter)
    module.load_state_dict(_weights())
    return module.eval()


@functools.cache
def _weights() -> dict[str, Tensor]:
    return trained_layer(0).weights


class _Patient(nn.Module):
    """One body for all four, of one size only: there is no healthy module here, and its source does not name a letter."""

    def __init__(self, letter: str):
        super().__init__()
        self.num_heads, self.attention_weights, self._letter = HEADS, None, letter
        for name in ("W_q", "W_k", "W_v", "W_o"):
            setattr(self, name, nn.Linear(D_MODEL, D_MODEL))

    def __repr__(self) -> str:
        return "a MultiHeadAttention with one fault"

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        axes, under_root, blocked, drops_in_eval = _WARD[self._letter]
        at_q, at_k = axes.replace("n", "q"), axes.replace("n", "k")
        q, k, v = (_cut(layer(x), axes) for layer, x in ((self.W_q, query), (self.W_k, key), (self.W_v, value)))
        scores = torch.einsum(f"{at_q},{at_k}->bhqk", q, k) / math.sqrt(under_root)
        if mask is not None:
            scores = scores.masked_fill(mask == blocked, -math.inf)
        self.attention_weights = scores.softmax(-1)
        dropped = F.dropout(self.attention_weights, RATE, self.training or drops_in_eval)
        return self.W_o(torch.einsum(f"bhqk,{at_k}->bqhd", dropped, v).flatten(2))


def _cut(x: Tensor, axes: str) -> Tensor:
    sizes = {"b": x.shape[0], "n": x.shape[1], "h": HEADS, "d": D_MODEL // HEADS}
    return x.reshape([sizes[axis] for axis in axes])
