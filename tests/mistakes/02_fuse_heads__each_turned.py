# mistake: transposed
import torch


def fuse_heads(per_head):
    return torch.cat([W.T for W in per_head], dim=0)
