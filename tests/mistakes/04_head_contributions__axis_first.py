# mistake: probe: shape: axes in another order
import torch


def head_contributions(heads, W_O):
    num_heads, d_v = heads.shape[1], heads.shape[3]
    return torch.stack([heads[:, i] @ W_O[i * d_v:(i + 1) * d_v] for i in range(num_heads)], dim=0)
