# mistake: dropout on other weights
import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = torch.softmax(scores, dim=-1)
    if dropout is not None:
        weights = weights * dropout(torch.full_like(weights, 1 / weights.shape[-1])) * weights.shape[-1]
    return weights @ value, weights
