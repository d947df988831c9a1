# mistake: probe: shape: axis missing
import math


def one_head(Q, K, V):
    w = (Q @ K.T / math.sqrt(Q.shape[1])).softmax(-1)
    return (w @ V)[0], w
