# mistake: probe: same for all


def one_head(Q, K, V):
    s = Q.matmul(K.t()) * Q.size(1) ** -0.5
    w = s.softmax(dim=1)
    output = V.mean(dim=0).expand(Q.size(0), -1)
    return output, w
