# mistake: masked after the softmax
import torch


def masked_softmax(scores, mask):
    w = torch.softmax(scores, dim=-1)
    w = w.masked_fill(~mask, 0.0)
    return w
