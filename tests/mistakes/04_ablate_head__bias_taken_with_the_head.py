# mistake: bias lost
import torch


def ablate_head(heads, W_o, i):
    alone = torch.zeros_like(heads)
    alone[:, i] = heads[:, i]
    whole, part = (W_o(x.transpose(1, 2).flatten(2)) for x in (heads, alone))
    return whole - part
