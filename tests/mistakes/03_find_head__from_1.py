# mistake: counted from 1
import torch


def find_head(attention, score):
    scores = torch.stack([score(layer) for layer in attention])
    layer, head = divmod(scores.argmax().item(), scores.shape[1])
    return layer + 1, head + 1
