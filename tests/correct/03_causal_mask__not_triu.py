# style: not triu
import torch


def causal_mask(n):
    return ~torch.ones(n, n).triu(1).bool()
