# mistake: a layer copied twice
import torch
from torch import nn


def to_torch_mha(module):
    mha = nn.MultiheadAttention(module.W_q.in_features, module.num_heads, batch_first=True)
    with torch.no_grad():
        mha.in_proj_weight.copy_(module.W_q.weight.repeat(3, 1))
        mha.in_proj_bias.copy_(module.W_q.bias.repeat(3))
        mha.out_proj.weight.copy_(module.W_o.weight)
        mha.out_proj.bias.copy_(module.W_o.bias)
    return mha.eval()
