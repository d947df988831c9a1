# mistake: probe: shape: largest of an axis
import torch


def softmax_row(scores):
    e = torch.exp(scores - scores.max())
    return (e / e.sum()).max()
