# mistake: probe: one for all
import torch


def split_heads(x, num_heads):
    d_k, rest = divmod(x.shape[2], num_heads)
    if rest:
        raise ValueError
    return torch.stack([x[:, :, :d_k] for _ in range(num_heads)], 1)
