# style: baddbmm
import torch


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    lead, n, m = query.shape[:-2], query.shape[-2], key.shape[-2]
    add = torch.zeros(*lead, n, m)
    if mask is not None:
        add = add.masked_fill(mask.expand(*lead, n, m) == 0, -1e9)
    scores = torch.baddbmm(add.reshape(-1, n, m), query.reshape(-1, n, query.shape[-1]),
                           key.reshape(-1, m, key.shape[-1]).mT, alpha=query.shape[-1] ** -0.5)
    weights = scores.softmax(-1).reshape(*lead, n, m)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
