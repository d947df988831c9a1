# mistake: a mask of its own
import torch


def to_torch_mask(mask):
    n = mask.shape[-1]
    return torch.ones(n, n).triu(1).bool()
