# mistake: biases in another order
import torch
from torch import nn


def to_torch_mha(module):
    mha = nn.MultiheadAttention(module.W_q.in_features, module.num_heads, batch_first=True)
    state = {"in_proj_weight": torch.cat([module.W_q.weight, module.W_k.weight, module.W_v.weight]).detach(),
             "in_proj_bias": torch.cat([module.W_k.bias, module.W_q.bias, module.W_v.bias]).detach(),
             "out_proj.weight": module.W_o.weight.detach(), "out_proj.bias": module.W_o.bias.detach()}
    mha.load_state_dict(state)
    mha.eval()
    return mha
