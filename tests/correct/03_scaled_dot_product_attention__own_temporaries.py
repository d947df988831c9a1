# style: in place on own temporaries, extra random draws
import torch


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    torch.rand(3)
    scores = query.matmul(key.transpose(-2, -1))
    scores.div_(query.shape[-1] ** 0.5)
    if mask is not None:
        scores.masked_fill_(mask.logical_not(), -1e30)
    weights = torch.softmax(scores, dim=-1)
    if dropout is not None:
        weights = dropout(weights)
    return weights.matmul(value), weights
