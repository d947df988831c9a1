# mistake: out_proj transposed
import torch
from torch import nn


def to_torch_mha(module):
    new = nn.MultiheadAttention(module.W_o.out_features, module.num_heads, batch_first=True).eval()
    with torch.no_grad():
        new.in_proj_weight.copy_(torch.cat([module.W_q.weight, module.W_k.weight, module.W_v.weight]))
        new.in_proj_bias.copy_(torch.cat([module.W_q.bias, module.W_k.bias, module.W_v.bias]))
        new.out_proj.weight.copy_(module.W_o.weight.T)
        new.out_proj.bias.copy_(module.W_o.bias)
    return new
