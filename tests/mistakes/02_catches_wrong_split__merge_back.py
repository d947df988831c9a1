# mistake: shape only
import torch


def catches_wrong_split(split_fn):
    x = torch.arange(2 * 3 * 8.).reshape(2, 3, 8)
    try:
        out = split_fn(x, 2)
    except Exception:
        return True
    if tuple(out.shape) != (2, 2, 3, 4):
        return True
    return not torch.equal(out.sum(), x.sum())
