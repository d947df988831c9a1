# style: python loops
import torch


def catches_wrong_split(split_fn):
    x = torch.arange(2 * 3 * 6).reshape(2, 3, 6).float()
    try:
        y = split_fn(x.clone(), 3)
        if list(y.shape) != [2, 3, 3, 2]:
            return True
        for b in range(2):
            for h in range(3):
                for n in range(3):
                    for k in range(2):
                        if y[b, h, n, k].item() != x[b, n, 2 * h + k].item():
                            return True
        return False
    except Exception:
        return True
