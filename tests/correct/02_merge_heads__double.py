# style: float64 answer
import torch


def merge_heads(x):
    return torch.cat(tuple(x.double().unbind(1)), -1)
