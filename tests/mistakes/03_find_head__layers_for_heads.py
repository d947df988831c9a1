# mistake: divided by the layers
import torch


def find_head(attention, score):
    scores = torch.stack([score(layer) for layer in attention])
    return divmod(scores.argmax().item(), scores.shape[0])
