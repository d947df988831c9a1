# mistake: probe: shape: joined along another axis
import torch


def merge_heads(x):
    return torch.cat([x[:, i] for i in range(x.shape[1])], dim=1)
