# mistake: added up already
def head_contributions(heads, W_O):
    num_heads, d_v = heads.shape[1], heads.shape[3]
    return (heads @ W_O.view(num_heads, d_v, -1)).sum(1)
