# style: load_state_dict, keeps a dropout rate
import torch
from torch import nn


def to_torch_mha(module):
    state = module.state_dict()
    mha = nn.MultiheadAttention(len(state["W_o.bias"]), module.num_heads, dropout=0.1, bias=True, batch_first=True)
    mha.load_state_dict({
        "in_proj_weight": torch.vstack([state[f"W_{x}.weight"] for x in "qkv"]),
        "in_proj_bias": torch.cat([state[f"W_{x}.bias"] for x in "qkv"]),
        "out_proj.weight": state["W_o.weight"],
        "out_proj.bias": state["W_o.bias"],
    })
    mha.eval()
    return mha
