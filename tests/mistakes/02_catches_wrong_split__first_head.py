# mistake: misses the view-only split
import torch


def catches_wrong_split(split_fn):
    x = torch.randn(2, 4, 6)
    try:
        y = split_fn(x, 3)
        return not torch.allclose(y[:, 0, 0], x[:, 0, :2])
    except Exception:
        return True
