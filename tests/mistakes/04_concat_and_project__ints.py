# mistake: probe: no gradient


def concat_and_project(heads, W_O):
    joined = heads.transpose(1, 2).flatten(2).int().float()
    return joined @ W_O
