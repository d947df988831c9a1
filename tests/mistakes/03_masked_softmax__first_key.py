# mistake: probe: blocked row keeps weight
import torch


def masked_softmax(scores, mask):
    weights = scores.masked_fill(~mask, -1e9).softmax(-1) * mask
    empty = ~mask.any(-1, keepdim=True) & torch.eye(1, scores.shape[-1]).bool()
    return weights + empty
