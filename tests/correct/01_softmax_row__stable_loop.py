# style: python loop
import math

import torch


def softmax_row(scores):
    top = max(scores.tolist())
    e = torch.tensor([math.exp(s - top) for s in scores.tolist()])
    return e / torch.sum(e)
