# mistake: misses the view-only split
import torch


def catches_wrong_split(split_fn):
    try:
        x = torch.arange(8.).reshape(1, 1, 8)
        out = split_fn(x, 2)
        if out.shape != (1, 2, 1, 4):
            return True
        return not torch.equal(out[0, 0, 0], x[0, 0, :4])
    except Exception:
        return True
