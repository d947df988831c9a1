# style: float64 answer


def previous_word_score(A):
    return A.double().diagonal(-1, 1, 2).mean(-1)
