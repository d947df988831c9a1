# mistake: probe: repeated and lost
import torch


def merge_heads(x):
    return torch.cat([x[:, 0]] * x.shape[1], dim=-1)
