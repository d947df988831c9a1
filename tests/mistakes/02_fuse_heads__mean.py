# mistake: probe: shape: blocks averaged
import torch


def fuse_heads(per_head):
    return torch.stack(list(per_head)).mean(0)
