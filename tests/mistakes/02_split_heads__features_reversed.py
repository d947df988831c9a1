# mistake: probe: reversed
import torch


def split_heads(x, num_heads):
    if x.size(-1) % num_heads != 0:
        raise ValueError("bad count")
    parts = x.chunk(num_heads, dim=-1)
    return torch.stack([p.flip(-1) for p in parts], dim=1)
