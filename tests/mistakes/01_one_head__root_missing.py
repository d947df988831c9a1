# mistake: root missing
import torch


def one_head(Q, K, V):
    weights = torch.softmax(Q @ K.T / K.shape[1], dim=-1)
    return weights @ V, weights
