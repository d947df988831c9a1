# mistake: probe: no gradient
def head_contributions(heads, W_O):
    num_heads, d_v = heads.shape[1], heads.shape[3]
    return heads @ W_O.detach().view(num_heads, d_v, -1)
