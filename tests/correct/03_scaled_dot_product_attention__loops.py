# style: loop over leading axes
import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    *leading, n, d_k = query.shape
    m, d_v = value.shape[-2:]
    masks = [None] * max(1, math.prod(leading))
    if mask is not None:
        masks = (mask != 0).expand(*leading, n, m).reshape(-1, n, m)
    rows = []
    for q, k, allowed in zip(query.reshape(-1, n, d_k), key.reshape(-1, m, d_k), masks, strict=True):
        s = q @ k.T / math.sqrt(d_k)
        rows.append((s if allowed is None else s.masked_fill(allowed.logical_not(), -math.inf)).softmax(1))
    weights = torch.stack(rows).reshape(*leading, n, m)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ value, weights
