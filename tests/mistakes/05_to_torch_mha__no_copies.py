# mistake: nothing copied
import torch
from torch import nn


def to_torch_mha(module):
    mha = nn.MultiheadAttention(module.W_q.weight.shape[0], module.num_heads, batch_first=True)
    with torch.no_grad():
        mha.in_proj_weight.copy_(mha.in_proj_weight)
        mha.out_proj.weight.copy_(mha.out_proj.weight)
    return mha.eval()
