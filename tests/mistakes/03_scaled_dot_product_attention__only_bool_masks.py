# mistake: mask of numbers ignored
import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    s = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None and mask.dtype == torch.bool:
        s = s.masked_fill(~mask, -1e9)
    w = s.softmax(-1)
    if dropout is not None:
        w = dropout(w)
    return w @ value, w
