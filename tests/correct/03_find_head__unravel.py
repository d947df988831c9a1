# style: unravel_index
import torch


def find_head(attention, score):
    scores = torch.stack([score(layer) for layer in attention])
    return tuple(int(i) for i in torch.unravel_index(scores.argmax(), scores.shape))
