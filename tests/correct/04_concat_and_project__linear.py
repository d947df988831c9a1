# style: F.linear with the matrix turned round
import torch
import torch.nn.functional as F


def concat_and_project(heads, W_O):
    return F.linear(torch.cat(heads.unbind(1), dim=-1), W_O.T)
