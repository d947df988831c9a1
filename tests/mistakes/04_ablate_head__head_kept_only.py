# mistake: kept instead of cut
import torch


def ablate_head(heads, W_o, i):
    only = torch.zeros_like(heads)
    only[:, i] = heads[:, i]
    return W_o(only.transpose(1, 2).flatten(2))
