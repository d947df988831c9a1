# mistake: probe: repeated and lost
import torch


def fuse_heads(per_head):
    return torch.cat(list(per_head[:-1]) + [per_head[0]], 1)
