# mistake: bias lost
import torch


def ablate_head(heads, W_o, i):
    b, h, n, d = heads.shape
    full = W_o(heads.transpose(1, 2).reshape(b, n, h * d))
    only = torch.zeros_like(heads)
    only[:, i] = heads[:, i]
    return full - W_o(only.transpose(1, 2).reshape(b, n, h * d))
