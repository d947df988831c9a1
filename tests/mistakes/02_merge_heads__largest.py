# mistake: probe: shape: largest of blocks


def merge_heads(x):
    return x.max(dim=1).values
