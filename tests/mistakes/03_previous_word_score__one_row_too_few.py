# mistake: probe: constant factor


def previous_word_score(A):
    S = A.shape[1]
    return sum(A[:, i, i - 1] for i in range(1, S)) / (S - 2)
