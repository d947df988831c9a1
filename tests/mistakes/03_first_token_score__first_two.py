# mistake: another column


def first_token_score(A):
    return A[:, 1:, :2].sum(-1).mean(-1)
