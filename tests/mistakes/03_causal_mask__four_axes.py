# mistake: -
import torch


def causal_mask(n):
    return torch.ones(1, 1, n, n).tril().bool()
