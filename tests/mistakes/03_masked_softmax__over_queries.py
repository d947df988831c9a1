# mistake: softmax over the queries
import math

import torch


def masked_softmax(scores, mask):
    return torch.nan_to_num(scores.masked_fill(~mask, -math.inf).softmax(-2))
