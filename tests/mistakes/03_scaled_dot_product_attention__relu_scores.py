# mistake: scores changed before the softmax
import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    s = torch.relu(query @ key.transpose(-2, -1)) / math.sqrt(query.shape[-1])
    if mask is not None:
        s = s.masked_fill(mask == 0, -1e9)
    w = torch.softmax(s, -1)
    if dropout is not None:
        w = dropout(w)
    return w @ value, w
