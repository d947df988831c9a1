# mistake: probe: negative numbers cut
import torch


def concat_and_project(heads, W_O):
    B, h, N, d = heads.shape
    return torch.relu(heads.permute(0, 2, 1, 3).reshape(B, N, h * d) @ W_O)
