# style: the query is scaled first, a list is returned
import math

import torch


def one_head(Q, K, V):
    exps = torch.exp((Q / math.sqrt(Q.shape[-1])) @ K.transpose(0, 1))
    weights = exps / exps.sum(dim=1, keepdim=True)
    return [weights.matmul(V), weights]
