# mistake: mask turned round
import torch


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    s = torch.einsum("...qd,...kd->...qk", query, key) / query.shape[-1] ** 0.5
    if mask is not None:
        s = torch.where(mask.bool(), torch.full_like(s, -1e9), s)
    a = s.softmax(-1)
    if dropout is not None:
        a = dropout(a)
    return a @ value, a
