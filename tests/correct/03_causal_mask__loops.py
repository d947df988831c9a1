# style: loops
import torch


def causal_mask(n):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        mask[i, :i + 1] = True
    return mask
