# style: nan_to_num after masked_fill
import math

import torch


def masked_softmax(scores, mask):
    return torch.nan_to_num(scores.masked_fill(mask.logical_not(), -math.inf).softmax(-1))
