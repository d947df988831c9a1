# style: loops that fill an empty tensor
import torch


def split_heads(x, num_heads):
    batch, seq, d_model = x.shape
    assert d_model % num_heads == 0
    d_k = d_model // num_heads
    out = torch.zeros(batch, num_heads, seq, d_k)
    for i in range(num_heads):
        for j in range(d_k):
            out[:, i, :, j] = x[:, :, i * d_k + j]
    return out
