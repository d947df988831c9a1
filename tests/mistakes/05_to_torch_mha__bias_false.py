# mistake: in_proj_bias forgotten
import torch
from torch import nn


def to_torch_mha(module):
    mha = nn.MultiheadAttention(module.W_q.in_features, module.num_heads, bias=False, batch_first=True)
    with torch.no_grad():
        mha.in_proj_weight.copy_(torch.cat([module.W_q.weight, module.W_k.weight, module.W_v.weight]))
        mha.out_proj.weight.copy_(module.W_o.weight)
    return mha.eval()
