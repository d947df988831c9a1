# mistake: head before layer
import torch


def find_head(attention, score):
    scores = torch.stack([score(layer) for layer in attention])
    layer, head = divmod(scores.argmax().item(), scores.shape[1])
    return head, layer
