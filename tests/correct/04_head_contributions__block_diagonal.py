# style: a block-diagonal matrix
import torch


def head_contributions(heads, W_O):
    b, h, n, d = heads.shape
    big = torch.block_diag(*W_O.split(d))
    return (heads.transpose(1, 2).reshape(b, n, h * d) @ big).reshape(b, n, h, -1).transpose(1, 2)
