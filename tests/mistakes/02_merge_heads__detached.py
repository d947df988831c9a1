# mistake: probe: no gradient
import torch


def merge_heads(x):
    return torch.cat(list(x.detach().unbind(1)), dim=-1)
