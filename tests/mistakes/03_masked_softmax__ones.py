# mistake: probe: blocked row keeps weight
import torch


def masked_softmax(scores, mask):
    e = scores.exp() * mask
    total = e.sum(-1, keepdim=True)
    return torch.where(total > 0, e / total.clamp(min=1e-30), torch.ones_like(e))
