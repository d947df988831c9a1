# mistake: probe: constant factor
import torch


def one_head(Q, K, V):
    w = torch.softmax(Q @ K.T / Q.shape[1] ** 0.5, -1)
    return w @ V / len(K), w
