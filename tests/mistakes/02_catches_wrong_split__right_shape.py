# mistake: inverted
import torch


def catches_wrong_split(split_fn):
    x = torch.randn(2, 3, 8)
    try:
        return split_fn(x, 4).shape == (2, 4, 3, 2)
    except Exception:
        return False
