# style: movedim and flatten, matmul in double
import torch


def concat_and_project(heads, W_O):
    concat = heads.movedim(1, 2).flatten(2)
    return torch.matmul(concat.double(), W_O.double()).to(heads.dtype)
