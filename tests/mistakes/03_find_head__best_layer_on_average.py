# mistake: another head
import torch


def find_head(attention, score):
    scores = torch.stack([score(layer) for layer in attention])
    layer = scores.mean(1).argmin().item()
    return layer, scores[layer].argmax().item()
