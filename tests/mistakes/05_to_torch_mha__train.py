# mistake: left in train mode
import torch
from torch import nn


def to_torch_mha(module):
    new = nn.MultiheadAttention(module.W_o.out_features, module.num_heads, 0.1, batch_first=True)
    rows = [module.W_q, module.W_k, module.W_v]
    new.load_state_dict({"in_proj_weight": torch.cat([r.weight for r in rows]), "in_proj_bias": torch.cat([r.bias for r in rows]),
                         "out_proj.weight": module.W_o.weight, "out_proj.bias": module.W_o.bias})
    return new
