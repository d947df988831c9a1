# mistake: probe: a list of numbers
import math


def softmax_row(scores):
    e = [math.exp(s) for s in scores]
    total = sum(e)
    return [x / total for x in e]
