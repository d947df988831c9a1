# mistake: probe: not a tensor


def one_head(Q, K, V):
    import numpy as np
    q, k, v = Q.numpy(), K.numpy(), V.numpy()
    s = q @ k.T / np.sqrt(q.shape[1])
    e = np.exp(s - s.max(axis=1, keepdims=True))
    w = e / e.sum(axis=1, keepdims=True)
    return w @ v, w
