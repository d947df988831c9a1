# mistake: round trip only
import torch


def catches_wrong_split(split_fn):
    x = torch.randn(2, 5, 12)
    try:
        return not torch.equal(split_fn(x, 3).reshape(2, 5, 12), x)
    except Exception:
        return True
