# mistake: probe: rounded
import math

import torch


def softmax_row(scores):
    top = scores.max()
    e = [math.exp(s - top) for s in scores]
    return torch.tensor([round(x / sum(e), 2) for x in e])
