# mistake: probe: turned round
import torch


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    s = -torch.matmul(query, key.transpose(-1, -2)) / query.size(-1) ** 0.5
    if mask is not None:
        s = s.masked_fill(mask == 0, float("-inf"))
    p = s.softmax(-1)
    if dropout:
        p = dropout(p)
    return torch.matmul(p, value), p
