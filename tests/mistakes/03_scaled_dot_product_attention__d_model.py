# mistake: scaled by d_model
import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    d_model = query.shape[-1] * (query.shape[-3] if query.dim() > 2 else 1)
    scores = query @ key.transpose(-2, -1) / math.sqrt(d_model)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = torch.softmax(scores, dim=-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
