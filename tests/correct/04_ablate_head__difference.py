# style: difference of two calls
import torch


def ablate_head(heads, W_o, i):
    only = torch.zeros_like(heads)
    only[:, i] = heads[:, i]
    whole = W_o(heads.permute(0, 2, 1, 3).flatten(2))
    part = W_o(only.permute(0, 2, 1, 3).flatten(2)) - W_o.bias
    return whole - part
