# mistake: W_O transposed
import torch


def concat_and_project(heads, W_O):
    return torch.nn.functional.linear(heads.transpose(1, 2).flatten(2), W_O)
