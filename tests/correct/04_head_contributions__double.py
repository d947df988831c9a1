# style: float64 answer
import torch


def head_contributions(heads, W_O):
    return torch.stack([h.double() @ w.double() for h, w in zip(heads.unbind(1), W_O.split(heads.shape[3]), strict=True)], 1)
