# mistake: probe: empty in part
import torch


def merge_heads(x):
    first, *others = x.unbind(1)
    return torch.cat([first, *(other.detach() for other in others)], dim=-1)
