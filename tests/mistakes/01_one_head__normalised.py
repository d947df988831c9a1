# mistake: queries and keys normalised


def one_head(Q, K, V):
    Q, K = Q / Q.norm(dim=1, keepdim=True), K / K.norm(dim=1, keepdim=True)
    weights = (Q @ K.T / Q.shape[1] ** 0.5).softmax(dim=1)
    return weights @ V, weights
