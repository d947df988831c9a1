# mistake: probe: shape: part missing
import torch


def fuse_heads(per_head):
    return torch.cat([per_head[0], per_head[1]], dim=1)
