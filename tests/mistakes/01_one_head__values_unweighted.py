# mistake: probe: same for all
import math

import torch


def one_head(Q, K, V):
    w = (Q @ K.T / math.sqrt(K.size(-1))).softmax(-1)
    total = torch.zeros(Q.size(0), V.size(1))
    for n in range(Q.size(0)):
        for m in range(K.size(0)):
            total[n] += V[m]
    return total, w
