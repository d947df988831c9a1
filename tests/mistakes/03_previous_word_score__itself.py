# mistake: the word itself
def previous_word_score(A):
    return A.diagonal(0, 1, 2).mean(-1)
