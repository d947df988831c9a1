# mistake: probe: constant factor
import math


def concat_and_project(heads, W_O):
    out = sum(heads[:, i] @ W_O[i * heads.shape[3]:(i + 1) * heads.shape[3]] for i in range(heads.shape[1]))
    return out / math.sqrt(heads.shape[1])
