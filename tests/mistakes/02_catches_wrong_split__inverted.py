# mistake: inverted
import torch


def catches_wrong_split(split_fn):
    x = torch.randn(2, 5, 12)
    right = torch.stack(x.chunk(3, dim=-1), dim=1)
    try:
        return torch.equal(split_fn(x, 3), right)
    except Exception:
        return False
