# mistake: shape only
import torch


def catches_wrong_split(split_fn):
    try:
        return split_fn(torch.randn(2, 5, 12), 3).shape != (2, 3, 5, 4)
    except Exception:
        return True
