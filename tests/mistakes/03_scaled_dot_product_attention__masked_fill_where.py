# mistake: mask turned round
import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    s = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        s = torch.where(mask.bool(), torch.tensor(-1e9), s)
    w = torch.softmax(s, dim=-1)
    if dropout is not None:
        w = dropout(w)
    return w @ value, w
