# mistake: probe: empty in part
import math

import torch


def one_head(Q, K, V):
    N, M = len(Q), len(K)
    w = torch.zeros(N, M)
    for n in range(N - 1):
        w[n] = torch.softmax(torch.stack([Q[n].dot(K[m]) for m in range(M)]) / math.sqrt(Q.shape[1]), 0)
    return w @ V, w
