# mistake: round trip only
import torch


def catches_wrong_split(split_fn):
    try:
        x = torch.randn(2, 3, 8)
        out = split_fn(x, 4)
        return not torch.equal(out, x.view(2, 4, 3, 2))
    except Exception:
        return True
