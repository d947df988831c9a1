# mistake: probe: one hot
import math

import torch


def one_head(Q, K, V):
    scores = Q @ K.T / math.sqrt(Q.shape[1])
    w = torch.nn.functional.one_hot(scores.argmax(1), len(K)).float()
    return w @ V, w
