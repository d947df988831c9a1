# mistake: divided by the count
import torch


def softmax_row(scores):
    return torch.exp(scores) / scores.numel()
