# mistake: probe: rows do not sum to one
import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    scores = torch.einsum("...nd,...md->...nm", query, key) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = torch.sigmoid(scores)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
