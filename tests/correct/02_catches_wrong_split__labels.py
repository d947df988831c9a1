# style: labelled cells
import torch


def catches_wrong_split(split_fn):
    x = torch.arange(2 * 4 * 6).view(2, 4, 6).float()
    try:
        got = split_fn(x, 2).tolist()
        wanted = [[[[24 * b + 6 * n + 3 * i + j for j in range(3)] for n in range(4)] for i in range(2)] for b in range(2)]
        return got != wanted
    except Exception:
        return True
