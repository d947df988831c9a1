# mistake: probe: nothing returned
import torch


def softmax_row(scores):
    exps = torch.exp(scores)
    exps = exps / exps.sum()
