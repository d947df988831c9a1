# mistake: heads mixed before W_O


def concat_and_project(heads, W_O):
    return heads.sum(1) @ W_O[:heads.shape[3]]
