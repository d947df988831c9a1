# mistake: probe: moved
import torch


def split_heads(x, num_heads):
    batch, seq, d_model = x.shape
    if d_model % num_heads:
        raise ValueError("no")
    parts = x.chunk(num_heads, dim=-1)
    return torch.stack(parts, dim=-1).reshape(batch, num_heads, seq, d_model // num_heads)
