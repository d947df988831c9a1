# style: float64 inside
import torch


def softmax_row(scores):
    wide = scores.double()
    return torch.softmax(wide - wide.mean(), 0)
