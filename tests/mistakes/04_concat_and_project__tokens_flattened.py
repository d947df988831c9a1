# mistake: probe: shape: numbers in another shape


def concat_and_project(heads, W_O):
    return (heads.transpose(1, 2).flatten(2) @ W_O).flatten(0, 1)
