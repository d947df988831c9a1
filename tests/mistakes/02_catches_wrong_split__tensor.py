# mistake: not a plain bool
import torch


def catches_wrong_split(split_fn):
    x = torch.randn(2, 5, 12)
    try:
        return (split_fn(x, 3) != torch.stack(x.chunk(3, dim=-1), dim=1)).any()
    except Exception:
        return True
