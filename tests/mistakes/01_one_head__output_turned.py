# mistake: probe: shape: axes exchanged
import math

import torch


def one_head(Q, K, V):
    w = torch.softmax(Q @ K.T / math.sqrt(Q.shape[1]), dim=1)
    return (w @ V).T, w
