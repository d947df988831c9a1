# mistake: probe: shape: blocks added up
import torch


def fuse_heads(per_head):
    total = torch.zeros_like(per_head[0])
    for W in per_head:
        total = total + W
    return total
