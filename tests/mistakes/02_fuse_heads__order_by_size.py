# mistake: probe: permuted
import torch


def fuse_heads(per_head):
    return torch.cat(sorted(per_head, key=lambda W: -float(W.sum())), dim=1)
