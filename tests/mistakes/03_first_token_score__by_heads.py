# mistake: probe: constant factor


def first_token_score(A):
    return A[:, 1:, 0].sum(-1) / A.shape[0]
