# mistake: probe: blocked row keeps weight
import torch


def masked_softmax(scores, mask):
    blocked = ~mask.expand_as(scores)
    w = scores.masked_fill(blocked, float("-inf")).softmax(-1)
    fallback = torch.zeros_like(w)
    fallback[..., -1] = 1
    return torch.where(w.isnan(), fallback, w)
