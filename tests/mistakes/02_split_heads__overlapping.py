# mistake: probe: taken from elsewhere
import torch


def split_heads(x, num_heads):
    D = x.shape[-1]
    assert D % num_heads == 0, "does not divide"
    k = D // num_heads
    return torch.stack([x[..., i:i + k] for i in range(num_heads)], 1)
