# mistake: probe: axes transposed
import math


def one_head(Q, K, V):
    w = (Q @ K.T / math.sqrt(Q.shape[1])).softmax(-1)
    return w @ V, w.T
