# mistake: h = 1
import torch


def catches_wrong_split(split_fn):
    x = torch.randn(2, 5, 12)
    try:
        return not torch.equal(split_fn(x, 1), x.unsqueeze(1))
    except Exception:
        return True
