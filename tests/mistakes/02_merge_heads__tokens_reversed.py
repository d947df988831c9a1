# mistake: probe: reversed
import torch


def merge_heads(x):
    return torch.cat([x[:, i].flip(1) for i in range(x.shape[1])], dim=2)
