# mistake: probe: turned round
import torch


def softmax_row(scores):
    e = torch.exp(-scores)
    return e / e.sum()
