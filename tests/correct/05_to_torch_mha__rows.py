# style: rows filled one block after the other, new parameters for the output
import copy

from torch import nn


def to_torch_mha(module):
    d = module.W_q.in_features
    mha = nn.MultiheadAttention(embed_dim=d, num_heads=module.num_heads, batch_first=True)
    for place, layer in enumerate((module.W_q, module.W_k, module.W_v)):
        mha.in_proj_weight.data[place * d:(place + 1) * d] = layer.weight.detach()
        mha.in_proj_bias.data[place * d:(place + 1) * d] = layer.bias.detach()
    mha.out_proj.weight = nn.Parameter(copy.deepcopy(module.W_o.weight.data))
    mha.out_proj.bias = nn.Parameter(copy.deepcopy(module.W_o.bias.data))
    return mha.train(False)
