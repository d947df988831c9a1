# mistake: silent truncation
import torch


def split_heads(x, num_heads):
    B, N, D = x.shape
    rest = -D % num_heads
    x = torch.nn.functional.pad(x, (0, rest))
    return x.reshape(B, N, num_heads, -1).transpose(1, 2)
