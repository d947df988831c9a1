# mistake: probe: allows too little
import torch


def causal_mask(n):
    m = torch.eye(n, dtype=torch.bool)
    for i in range(1, n):
        m[i, i - 1] = True
    return m
