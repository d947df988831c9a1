# style: a loop over plain numbers
import math

import torch


def softmax_row(scores):
    largest = max(scores.tolist())
    exps = [math.exp(s - largest) for s in scores.tolist()]
    total = sum(exps)
    return torch.tensor([e / total for e in exps])
