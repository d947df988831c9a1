# style: each head against its slice
import torch


def catches_wrong_split(split_fn):
    x = torch.randn(3, 5, 8)
    try:
        got = split_fn(x, 4)
        if got.shape != (3, 4, 5, 2):
            return True
        return any(not torch.equal(got[:, i], x[:, :, 2 * i:2 * i + 2]) for i in range(4))
    except Exception:
        return True
