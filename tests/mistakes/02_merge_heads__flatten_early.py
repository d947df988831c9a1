# mistake: heads and d_v exchanged


def merge_heads(x):
    return x.transpose(1, 3).flatten(2)
