# style: exponentials and mask
import math


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    exps = scores.exp()
    if mask is not None:
        exps = exps * mask
    weights = exps / exps.sum(-1, keepdim=True)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
