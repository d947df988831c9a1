# mistake: misses the interleaved split
import torch


def catches_wrong_split(split_fn):
    x = torch.randn(2, 5, 12)
    try:
        got = split_fn(x, 3)
        return got.shape != (2, 3, 5, 4) or not torch.equal(got[:, 0, :, 0], x[:, :, 0])
    except Exception:
        return True
