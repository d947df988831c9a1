# mistake: one key too many
import torch


def causal_mask(n):
    return torch.ones(n, n).tril(diagonal=1).bool()
