# mistake: own error
def head_contributions(heads, W_O):
    return heads @ W_O.view(heads.shape[1], 4, -1)
