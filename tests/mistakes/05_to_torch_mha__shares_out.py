# mistake: shared, not copied
import torch
from torch import nn


def to_torch_mha(module):
    d = module.W_q.weight.shape[0]
    mha = nn.MultiheadAttention(d, module.num_heads, batch_first=True)
    with torch.no_grad():
        mha.in_proj_weight.copy_(torch.cat([module.W_q.weight, module.W_k.weight, module.W_v.weight]))
        mha.in_proj_bias.copy_(torch.cat([module.W_q.bias, module.W_k.bias, module.W_v.bias]))
    mha.out_proj.weight = module.W_o.weight
    mha.out_proj.bias = module.W_o.bias
    return mha.eval()
