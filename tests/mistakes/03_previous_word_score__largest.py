# mistake: another statistic
def previous_word_score(A):
    return A.diagonal(-1, 1, 2).amax(-1)
