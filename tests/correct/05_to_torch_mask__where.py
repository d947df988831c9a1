# style: where
import torch


def to_torch_mask(mask):
    return torch.where(mask.bool(), False, True)
