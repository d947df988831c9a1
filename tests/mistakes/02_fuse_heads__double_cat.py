# mistake: probe: shape: more besides
import torch


def fuse_heads(per_head):
    fused = per_head[0]
    for W in per_head:
        fused = torch.cat([fused, W], dim=1)
    return fused
