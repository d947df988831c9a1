# mistake: probe: allows too little
import torch


def causal_mask(n):
    return torch.stack([torch.arange(n) <= i // 2 for i in range(n)])
