# mistake: a bias not copied
import torch
from torch import nn


def to_torch_mha(module):
    d = module.W_q.in_features
    mha = nn.MultiheadAttention(d, module.num_heads, batch_first=True)
    with torch.no_grad():
        for j, layer in enumerate((module.W_q, module.W_k, module.W_v)):
            mha.in_proj_weight[j * d:(j + 1) * d].copy_(layer.weight)
        mha.in_proj_bias[:d].copy_(module.W_q.bias)
        mha.in_proj_bias[d:2 * d].copy_(module.W_k.bias)
        mha.out_proj.load_state_dict(module.W_o.state_dict())
    return mha.eval()
