# style: minus infinity, filled afterwards
import math


def masked_softmax(scores, mask):
    weights = scores.masked_fill(~mask, -math.inf).softmax(-1)
    return weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)
