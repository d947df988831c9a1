# mistake: probe: shape
import torch


def causal_mask(n):
    return torch.ones(5, 5).tril().bool()
