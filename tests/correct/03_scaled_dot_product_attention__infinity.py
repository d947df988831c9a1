# style: minus infinity
import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask.bool(), -math.inf)
    weights = torch.softmax(scores, dim=-1)
    kept = weights if dropout is None else dropout(weights)
    return kept @ value, weights
