# style: where NaN stood, 0
import torch


def masked_softmax(scores, mask):
    w = torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)
    return torch.where(torch.isnan(w), torch.zeros_like(w), w)
