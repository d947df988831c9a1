# style: fill the columns in a loop
import torch


def fuse_heads(per_head):
    d_model, d_k = per_head[0].shape
    fused = torch.empty(d_model, len(per_head) * d_k)
    for i, W in enumerate(per_head):
        fused[:, i * d_k:(i + 1) * d_k] = W
    return fused
