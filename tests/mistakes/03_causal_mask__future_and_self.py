# mistake: future and self
import torch


def causal_mask(n):
    return torch.triu(torch.ones(n, n)).bool()
