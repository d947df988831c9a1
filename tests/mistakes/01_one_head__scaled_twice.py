# mistake: root missing


def one_head(Q, K, V):
    d = Q.shape[1] ** 0.5
    w = ((Q / d) @ (K / d).T).softmax(-1)
    return w @ V, w
