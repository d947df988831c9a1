# mistake: probe: moved
import torch


def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError("cannot split")
    y = torch.cat([x[..., 1:], x[..., :1]], -1)
    return y.unflatten(-1, (num_heads, -1)).transpose(1, 2)
