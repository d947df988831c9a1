# mistake: probe: empty in part
import torch


def head_contributions(heads, W_O):
    B, h, N, d = heads.shape
    out = torch.zeros(B, h, N, W_O.shape[1])
    for i in range(h):
        out[:, i] = heads[:, i] @ W_O[i * d:(i + 1) * d]
        return out
