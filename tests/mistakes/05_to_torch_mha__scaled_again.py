# mistake: probe: too even
import torch
from torch import nn


def to_torch_mha(module):
    d = module.W_q.in_features
    mha = nn.MultiheadAttention(d, module.num_heads, batch_first=True).eval()
    s = (d // module.num_heads) ** -0.5
    with torch.no_grad():
        mha.in_proj_weight[:d] = module.W_q.weight * s
        mha.in_proj_weight[d:2 * d] = module.W_k.weight
        mha.in_proj_weight[2 * d:] = module.W_v.weight
        mha.in_proj_bias[:d] = module.W_q.bias * s
        mha.in_proj_bias[d:] = torch.cat([module.W_k.bias, module.W_v.bias])
        mha.out_proj.weight[:] = module.W_o.weight
        mha.out_proj.bias[:] = module.W_o.bias
    return mha
