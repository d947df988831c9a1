# mistake: probe: constant factor
import torch


def softmax_row(scores):
    e = scores.exp()
    return e / torch.log(e.sum())
