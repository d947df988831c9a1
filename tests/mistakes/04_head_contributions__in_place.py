# mistake: probe: changed in place
import torch


def head_contributions(heads, W_O):
    num_heads, d_v = heads.shape[1], heads.shape[3]
    parts = []
    for i in range(num_heads):
        parts.append(heads[:, i] @ W_O[i * d_v:(i + 1) * d_v])
        heads.data[:, i] = 0
    return torch.stack(parts, dim=1)
