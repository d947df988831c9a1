# style: hstack
import torch


def fuse_heads(per_head):
    fused = per_head[0]
    for W in per_head[1:]:
        fused = torch.hstack((fused, W))
    return fused
