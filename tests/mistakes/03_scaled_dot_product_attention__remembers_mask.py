# mistake: own error
import math

import torch

last_mask = None


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    global last_mask
    mask = last_mask if mask is None and last_mask is not None else mask
    last_mask = mask
    if mask is not None and mask.shape[-1] == scores.shape[-1]:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = torch.softmax(scores, dim=-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
