# mistake: probe: open place gets nothing
import torch


def one_head(Q, K, V):
    scores = Q @ K.T / Q.shape[1] ** 0.5
    w = torch.zeros_like(scores)
    w[:, :-1] = scores[:, :-1].softmax(-1)
    return w @ V, w
