# style: renormalised after the softmax
import math


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    weights = scores.double().softmax(-1)
    if mask is not None:
        weights = weights * mask
        weights = weights / weights.sum(-1, keepdim=True)
    weights = weights.to(value.dtype)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
