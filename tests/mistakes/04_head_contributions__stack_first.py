# mistake: probe: shape: axes in another order
import torch


def head_contributions(heads, W_O):
    d = heads.shape[3]
    return torch.stack([heads[:, i] @ W_O[i * d:(i + 1) * d] for i in range(heads.shape[1])])
