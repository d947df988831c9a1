# mistake: not a pair
import torch


def find_head(attention, score):
    scores = torch.stack([score(layer) for layer in attention])
    return list(divmod(scores.argmax().item(), scores.shape[1]))
