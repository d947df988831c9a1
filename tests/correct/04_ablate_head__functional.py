# style: F.linear with a masked copy of the weight
from torch import nn


def ablate_head(heads, W_o, i):
    d = heads.shape[-1]
    w = W_o.weight.clone()
    w[:, i * d:(i + 1) * d] = 0
    return nn.functional.linear(heads.transpose(1, 2).flatten(2), w, W_o.bias)
