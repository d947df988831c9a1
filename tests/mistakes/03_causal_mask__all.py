# mistake: everything allowed
import torch


def causal_mask(n):
    return torch.ones(n, n, dtype=torch.bool)
