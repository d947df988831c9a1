# mistake: rows left out
def previous_word_score(A):
    return A.diagonal(-1, 1, 2)[:, :-1].mean(-1)
