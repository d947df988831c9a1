# mistake: W_O reshaped
import torch


def concat_and_project(heads, W_O):
    B, h, N, d = heads.shape
    joined = torch.cat([heads[:, i] for i in range(h)], -1)
    return joined @ W_O.reshape(W_O.shape[1], W_O.shape[0]).T
