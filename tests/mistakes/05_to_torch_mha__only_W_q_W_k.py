# mistake: a layer not copied
import torch
from torch import nn


def to_torch_mha(module):
    d = module.W_q.in_features
    mha = nn.MultiheadAttention(d, module.num_heads, batch_first=True)
    with torch.no_grad():
        mha.in_proj_weight[:d] = module.W_q.weight
        mha.in_proj_weight[d:2 * d] = module.W_k.weight
        mha.in_proj_bias.copy_(torch.cat([module.W_q.bias, module.W_k.bias, module.W_v.bias]))
        mha.out_proj.load_state_dict(module.W_o.state_dict())
    return mha.eval()
