# mistake: probe: shape: axes joined
import torch


def head_contributions(heads, W_O):
    d = heads.shape[3]
    return torch.cat([heads[:, i] @ W_O[i * d:(i + 1) * d] for i in range(heads.shape[1])], dim=-1)
