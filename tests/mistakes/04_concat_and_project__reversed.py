# mistake: heads in reversed order
import torch


def concat_and_project(heads, W_O):
    return torch.cat([heads[:, i] for i in range(heads.shape[1] - 1, -1, -1)], dim=-1) @ W_O
