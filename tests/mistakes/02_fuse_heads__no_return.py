# mistake: probe: nothing returned
import torch


def fuse_heads(per_head):
    torch.cat(per_head, dim=1)
