# mistake: probe: shape: axes exchanged
import torch


def split_heads(x, num_heads):
    b, n, d = x.shape
    if d % num_heads != 0:
        raise ValueError("d_model not divisible")
    return torch.stack(x.split(num_heads, dim=-1), dim=1)
