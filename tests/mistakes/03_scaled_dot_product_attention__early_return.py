# mistake: probe: nothing returned
import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    s = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        s = s.masked_fill(mask == 0, -1e9)
    w = torch.softmax(s, dim=-1)
    if dropout is not None:
        w = dropout(w)
        return w @ value, w
