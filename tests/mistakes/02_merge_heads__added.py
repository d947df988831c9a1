# mistake: heads added up
def merge_heads(x):
    return x.sum(1)
