# mistake: probe: open place gets nothing


def one_head(Q, K, V):
    s = Q @ K.T / Q.shape[1] ** 0.5
    s.fill_diagonal_(float("-inf"))
    w = s.softmax(-1)
    return w @ V, w
