# mistake: nothing copied
import torch
from torch import nn


def to_torch_mha(module):
    mha = nn.MultiheadAttention(module.W_o.weight.shape[0], module.num_heads, batch_first=True).eval()
    with torch.no_grad():
        for layer, rows in zip((module.W_q, module.W_k, module.W_v), mha.in_proj_weight.chunk(3), strict=True):
            layer.weight.copy_(rows)
    return mha
