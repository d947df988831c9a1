# mistake: scaled by three
import math

import torch


def one_head(Q, K, V):
    weights = torch.softmax(Q @ K.T / math.sqrt(3), dim=-1)
    return weights @ V, weights
