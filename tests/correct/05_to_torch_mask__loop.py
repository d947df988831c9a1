# style: python loop
import torch


def to_torch_mask(mask):
    return torch.tensor([not bool(m) for m in mask.flatten()]).view(mask.shape)
