# style: query scaled first
import torch


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    scores = (query / query.size(-1) ** 0.5) @ key.mT
    if mask is not None:
        scores = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
