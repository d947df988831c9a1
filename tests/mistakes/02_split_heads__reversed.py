# mistake: heads in reversed order
import torch


def split_heads(x, num_heads):
    d_k = x.shape[-1] // num_heads
    if d_k * num_heads != x.shape[-1]:
        raise ValueError("num_heads must divide d_model")
    return torch.stack([x[..., i * d_k:(i + 1) * d_k] for i in range(num_heads - 1, -1, -1)], dim=1)
