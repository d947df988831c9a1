# mistake: softmax over the queries
import torch


def one_head(Q, K, V):
    s = torch.einsum("nd,md->nm", Q, K) / Q.shape[-1] ** 0.5
    e = torch.exp(s)
    w = e / e.sum(0)
    return w @ V, w
