# style: additive mask
import math


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores + (1 - mask.to(scores.dtype)) * -1e9
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights.matmul(value), weights
