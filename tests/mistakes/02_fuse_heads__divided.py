# mistake: probe: constant factor
import torch


def fuse_heads(per_head):
    return torch.cat([W / len(per_head) for W in per_head], 1)
