# mistake: probe: shape: axes joined
import torch


def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError("bad")
    return torch.cat(x.chunk(num_heads, dim=-1), dim=0)
