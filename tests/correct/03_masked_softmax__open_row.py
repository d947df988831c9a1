# style: blocked rows opened first
import math


def masked_softmax(scores, mask):
    empty = ~mask.any(-1, keepdim=True)
    weights = scores.masked_fill(~(mask | empty), -math.inf).softmax(-1)
    return weights * ~empty
