# mistake: not a pair
import torch


def find_head(attention, score):
    s = torch.stack([score(a) for a in attention])
    flat = int(s.argmax())
    return [flat // s.shape[1], flat % s.shape[1]]
