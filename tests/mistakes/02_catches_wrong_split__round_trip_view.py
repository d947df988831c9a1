# mistake: round trip only
import torch


def catches_wrong_split(split_fn):
    x = torch.randn(2, 6, 8)
    try:
        return not torch.equal(split_fn(x, 4).reshape(2, 6, 8), x)
    except Exception:
        return True
