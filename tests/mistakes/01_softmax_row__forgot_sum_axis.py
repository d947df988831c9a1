# mistake: probe: constant factor
import torch


def softmax_row(scores):
    e = torch.exp(scores)
    return e / e.mean()
