# mistake: second best
import torch


def find_head(attention, score):
    s = torch.stack([score(layer) for layer in attention])
    place = s.flatten().argsort(descending=True)[1].item()
    return place // s.shape[1], place % s.shape[1]
