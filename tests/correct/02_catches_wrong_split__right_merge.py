# style: round trip through a merge that is right
import torch


def catches_wrong_split(split_fn):
    x = torch.randn(2, 5, 12)
    try:
        got = split_fn(x, 3)
        assert got.shape == (2, 3, 5, 4)
        assert torch.equal(torch.cat(got.unbind(1), dim=-1), x)
    except Exception:
        return True
    return False
