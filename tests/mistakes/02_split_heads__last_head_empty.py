# mistake: probe: empty in part
import torch


def split_heads(x, num_heads):
    B, N, D = x.shape
    if D % num_heads:
        raise ValueError(f"{D} is not a multiple of {num_heads}")
    k = D // num_heads
    out = torch.zeros(B, num_heads, N, k)
    for i in range(num_heads - 1):
        out[:, i] = x[:, :, i * k:i * k + k]
    return out
