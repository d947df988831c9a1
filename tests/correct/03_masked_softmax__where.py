# style: where
import torch


def masked_softmax(scores, mask):
    filled = torch.where(mask, scores, torch.tensor(-1e9))
    return torch.where(mask, filled.softmax(-1), torch.tensor(0.0))
