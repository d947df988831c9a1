# style: loops over queries and keys
import math

import torch


def one_head(Q, K, V):
    weights = torch.zeros(len(Q), len(K))
    output = torch.zeros(len(Q), V.shape[1])
    for n, query in enumerate(Q):
        scores = [float(query @ key) / math.sqrt(len(query)) for key in K]
        total = sum(math.exp(s) for s in scores)
        for m, score in enumerate(scores):
            weights[n, m] = math.exp(score) / total
            output[n] += weights[n, m] * V[m]
    return output, weights
