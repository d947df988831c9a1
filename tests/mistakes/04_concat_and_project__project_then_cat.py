# mistake: probe: shape: blocks not added
import torch


def concat_and_project(heads, W_O):
    b, h, n, d = heads.shape
    return torch.cat([heads[:, i] @ W_O[i * d:(i + 1) * d] for i in range(h)], dim=-1)
