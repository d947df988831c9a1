# mistake: probe: constant offset
import torch


def concat_and_project(heads, W_O):
    return heads.transpose(1, 2).flatten(2) @ W_O + torch.ones(W_O.shape[1])
