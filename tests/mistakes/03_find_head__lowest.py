# mistake: lowest score
import torch


def find_head(attention, score):
    scores = torch.stack([score(layer) for layer in attention])
    return divmod(scores.argmin().item(), scores.shape[1])
