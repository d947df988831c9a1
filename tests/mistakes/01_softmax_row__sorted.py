# mistake: probe: permuted
import torch


def softmax_row(scores):
    ordered, _ = scores.sort(descending=True)
    return torch.softmax(ordered, 0)
