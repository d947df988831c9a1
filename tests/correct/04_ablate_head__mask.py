# style: mask of ones and one zero, without gradients
import torch
import torch.nn.functional as F


@torch.no_grad()
def ablate_head(heads, W_o, i):
    keep = torch.ones(heads.shape[1])
    keep[i] = 0
    kept = heads * keep[:, None, None]
    return F.linear(torch.cat(kept.unbind(1), dim=-1), W_o.weight, W_o.bias)
