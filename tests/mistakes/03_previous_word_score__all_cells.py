# mistake: mean over all cells
def previous_word_score(A):
    return A.diagonal(-1, 1, 2).sum(-1) / A[0].numel()
