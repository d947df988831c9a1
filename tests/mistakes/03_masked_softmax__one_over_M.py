# mistake: even weights in the blocked row
import torch


def masked_softmax(scores, mask):
    w = torch.softmax(scores.masked_fill(mask.logical_not(), float("-inf")), dim=-1)
    return torch.nan_to_num(w, nan=1.0 / scores.shape[-1])
