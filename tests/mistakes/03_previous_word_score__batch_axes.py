# mistake: probe: shape: one size differs
def previous_word_score(A):
    return A.diagonal(-1).mean(-1)
