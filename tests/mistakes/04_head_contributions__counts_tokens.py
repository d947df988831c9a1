# mistake: own error
def head_contributions(heads, W_O):
    return heads @ W_O.reshape(heads.shape[2], -1, W_O.shape[1])
