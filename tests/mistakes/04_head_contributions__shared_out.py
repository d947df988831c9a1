# mistake: output shared out equally
import torch


def head_contributions(heads, W_O):
    output = torch.cat(heads.unbind(1), dim=-1) @ W_O
    return torch.stack([output / heads.shape[1]] * heads.shape[1], dim=1)
