# mistake: row 0 counted
def previous_word_score(A):
    return A.diagonal(-1, 1, 2).sum(-1) / A.shape[-1]
