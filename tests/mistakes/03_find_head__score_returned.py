# mistake: the score itself
import torch


def find_head(attention, score):
    scores = torch.stack([score(layer) for layer in attention])
    return scores.max().item()
