# style: a deep copy of the layer
import copy

import torch


def ablate_head(heads, W_o, i):
    d_v = heads.shape[3]
    layer = copy.deepcopy(W_o)
    with torch.no_grad():
        layer.weight[:, i * d_v:(i + 1) * d_v] = 0
    return layer(heads.transpose(1, 2).flatten(2))
