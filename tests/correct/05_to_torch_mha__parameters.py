# style: parameters by zip
import torch
from torch import nn


def to_torch_mha(module):
    print("converting")
    new = nn.MultiheadAttention(module.W_q.weight.shape[1], module.num_heads, dropout=0.3, batch_first=True)
    for part in ("weight", "bias"):
        rows = [getattr(getattr(module, name), part).data for name in ("W_q", "W_k", "W_v")]
        getattr(new, "in_proj_" + part).data = torch.cat(rows)
        getattr(new.out_proj, part).data = getattr(module.W_o, part).data.clone()
    return new.train(False)
