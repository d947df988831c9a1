# mistake: scaled by d_v
import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    s = torch.matmul(query, key.mT) / math.sqrt(value.shape[-1])
    if mask is not None:
        s = s.masked_fill(mask == 0, -1e9)
    a = torch.softmax(s, -1)
    if dropout is not None:
        a = dropout(a)
    return a @ value, a
