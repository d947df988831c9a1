# mistake: probe: no gradient
import torch


def head_contributions(heads, W_O):
    num_heads, d_v = heads.shape[1], heads.shape[3]
    with torch.no_grad():
        return heads @ W_O.view(num_heads, d_v, -1)
