# style: bmm
import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    *leading, n, d_k = query.shape
    m, d_v = value.shape[-2:]
    q, k, v = query.reshape(-1, n, d_k), key.reshape(-1, m, d_k), value.reshape(-1, m, d_v)
    scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(d_k)
    if mask is not None:
        mask = mask.bool().expand(*leading, n, m).reshape(-1, n, m)
        scores[~mask] = -1e9
    weights = torch.nn.functional.softmax(scores, dim=2)
    if dropout:
        weights = dropout(weights)
    return torch.bmm(weights, v).reshape(*leading, n, d_v), weights.reshape(*leading, n, m)
