# style: einsum
import torch


def one_head(Q, K, V):
    scores = torch.einsum("nd,md->nm", Q, K) / Q.shape[-1] ** 0.5
    weights = scores.softmax(dim=-1)
    return torch.einsum("nm,md->nd", weights, V), weights
