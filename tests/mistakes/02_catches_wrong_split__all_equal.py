# mistake: equal numbers
import torch


def catches_wrong_split(split_fn):
    x = torch.ones(2, 3, 8)
    good = torch.ones(2, 4, 3, 2)
    try:
        got = split_fn(x, 4)
        return got.shape != good.shape or not bool((got == good).all())
    except Exception:
        return True
