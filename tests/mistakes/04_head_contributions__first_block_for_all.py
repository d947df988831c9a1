# mistake: one block for all heads


def head_contributions(heads, W_O):
    return heads @ W_O[:heads.shape[-1]]
