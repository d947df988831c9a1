# mistake: probe: shape: part missing
import torch


def merge_heads(x):
    return torch.cat([x[:, i] for i in range(1, x.shape[1])], dim=-1)
