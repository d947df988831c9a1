# mistake: q, k and v moved round
import torch
from torch import nn


def to_torch_mha(module):
    mha = nn.MultiheadAttention(module.W_q.weight.shape[0], module.num_heads, batch_first=True)
    with torch.no_grad():
        mha.in_proj_weight.copy_(torch.cat([module.W_k.weight, module.W_v.weight, module.W_q.weight]))
        mha.in_proj_bias.copy_(torch.cat([module.W_k.bias, module.W_v.bias, module.W_q.bias]))
        mha.out_proj.weight.copy_(module.W_o.weight)
        mha.out_proj.bias.copy_(module.W_o.bias)
    return mha.eval()
