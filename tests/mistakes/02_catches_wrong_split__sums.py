# mistake: shape only
import torch


def catches_wrong_split(split_fn):
    x = torch.rand(3, 4, 6)
    try:
        y = split_fn(x, 2)
    except Exception:
        return True
    return not (tuple(y.shape) == (3, 2, 4, 3) and bool(torch.isclose(y.sum(), x.sum())))
