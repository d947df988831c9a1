# mistake: probe: constant offset


def head_contributions(heads, W_O):
    blocks = W_O.reshape(heads.shape[1], heads.shape[3], -1)
    return heads @ blocks + 1
