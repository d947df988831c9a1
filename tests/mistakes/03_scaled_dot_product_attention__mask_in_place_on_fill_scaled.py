# mistake: probe: rows do not sum to one
import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    scores = torch.matmul(query, key.transpose(-2, -1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(-1) / math.sqrt(query.size(-1))
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
