# mistake: rows left out


def first_token_score(A):
    return A[:, 1:-1, 0].mean(-1)
