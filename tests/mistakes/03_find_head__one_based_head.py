# mistake: head counted from 1
import torch


def find_head(attention, score):
    s = torch.stack([score(layer) for layer in attention])
    layer, head = divmod(int(s.argmax()), s.shape[1])
    return layer, head + 1
