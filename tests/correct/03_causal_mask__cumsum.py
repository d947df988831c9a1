# style: cumsum of the identity
import torch


def causal_mask(n):
    return torch.eye(n).flip(1).cumsum(1).flip(1) > 0
