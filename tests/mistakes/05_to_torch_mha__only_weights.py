# mistake: in_proj_bias forgotten
import torch
from torch import nn


def to_torch_mha(module):
    new = nn.MultiheadAttention(module.W_o.out_features, module.num_heads, batch_first=True).eval()
    new.in_proj_weight.data = torch.cat([module.W_q.weight.data, module.W_k.weight.data, module.W_v.weight.data])
    new.out_proj.weight.data = module.W_o.weight.data.clone()
    return new
