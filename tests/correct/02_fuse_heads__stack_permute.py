# style: stack, move the head axis, join
import torch


def fuse_heads(per_head):
    stacked = torch.stack(per_head)  # (h, d_model, d_k)
    return stacked.permute(1, 0, 2).reshape(stacked.shape[1], -1)
