# mistake: misses reversed heads
import torch


def catches_wrong_split(split_fn):
    x = torch.randn(2, 5, 12)
    try:
        got = split_fn(x, 3)
        found = [any(torch.equal(got[:, i], part) for i in range(3)) for part in x.chunk(3, dim=-1)]
        return got.shape != (2, 3, 5, 4) or not all(found)
    except Exception:
        return True
