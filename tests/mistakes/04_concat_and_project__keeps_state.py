# mistake: probe: shape: joined along another axis
import torch


def concat_and_project(heads, W_O, total=[]):
    total.append(torch.cat(heads.unbind(1), dim=-1) @ W_O)
    return total[0]
