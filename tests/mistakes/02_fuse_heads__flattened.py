# mistake: probe: shape: axes joined
import torch


def fuse_heads(per_head):
    return torch.cat([W.flatten() for W in per_head])
