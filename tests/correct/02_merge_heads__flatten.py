# style: movedim and flatten
def merge_heads(x):
    return x.movedim(1, 2).flatten(2)
