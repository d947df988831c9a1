# mistake: probe: says one thing
import torch


def causal_mask(n):
    m = torch.zeros(n, n).bool()
    for i in range(n):
        for j in range(i, i):
            m[i, j] = True
    return m
