# mistake: heads before batch
import torch


def split_heads(x, num_heads):
    assert x.shape[-1] % num_heads == 0
    return torch.stack(x.chunk(num_heads, dim=-1))
