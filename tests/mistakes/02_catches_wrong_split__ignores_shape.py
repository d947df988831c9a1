# mistake: misses another shape
import torch


def catches_wrong_split(split_fn):
    x = torch.randn(2, 5, 12)
    right = torch.stack(x.chunk(3, dim=-1), dim=1)
    try:
        got = split_fn(x, 3)
    except Exception:
        return True
    return got.shape == right.shape and not torch.equal(got, right)
