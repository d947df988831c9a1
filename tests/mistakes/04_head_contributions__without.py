# mistake: the other heads instead
import torch


def head_contributions(heads, W_O):
    parts = []
    for i in range(heads.shape[1]):
        rest = heads.clone()
        rest[:, i] = 0
        parts.append(rest.transpose(1, 2).flatten(2) @ W_O)
    return torch.stack(parts, 1)
