# style: exp and sum
import torch


def softmax_row(scores):
    exps = torch.exp(scores)
    return exps / torch.sum(exps)
