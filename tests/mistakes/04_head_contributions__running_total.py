# mistake: running total
import torch


def head_contributions(heads, W_O):
    num_heads, d_v = heads.shape[1], heads.shape[3]
    total, parts = 0, []
    for i in range(num_heads):
        total = total + heads[:, i] @ W_O[i * d_v:(i + 1) * d_v]
        parts.append(total)
    return torch.stack(parts, dim=1)
