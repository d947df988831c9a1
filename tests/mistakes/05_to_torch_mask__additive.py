# mistake: additive mask
import torch


def to_torch_mask(mask):
    return torch.zeros(mask.shape).masked_fill(mask == 0, float("-inf"))
