# mistake: probe: shape: joined along another axis
import torch


def merge_heads(x):
    return torch.cat(x.unbind(1), dim=1)
