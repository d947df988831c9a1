# style: the other heads set to zero
import torch


def head_contributions(heads, W_O):
    num_heads, d_v = heads.shape[1], heads.shape[3]
    parts = []
    for i in range(num_heads):
        alone = torch.zeros_like(heads)
        alone[:, i] = heads[:, i]
        parts.append(alone.transpose(1, 2).flatten(2) @ W_O)
    return torch.stack(parts, dim=1)
