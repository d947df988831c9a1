# style: einsum
import torch


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    scores = torch.einsum("...nf,...mf->...nm", query, key) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = torch.where(mask.bool(), scores, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    if dropout is not None:
        weights = dropout(weights)
    return torch.einsum("...nm,...mv->...nv", weights, value), weights
