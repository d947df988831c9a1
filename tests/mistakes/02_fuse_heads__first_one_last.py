# mistake: probe: shifted
import torch


def fuse_heads(per_head):
    fused = per_head[1]
    for W in per_head[2:]:
        fused = torch.hstack([fused, W])
    return torch.hstack([fused, per_head[0]])
