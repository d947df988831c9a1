# style: chunk and stack
import torch


def split_heads(x, num_heads):
    if x.size(-1) % num_heads:
        raise ValueError("num_heads must divide d_model")
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
