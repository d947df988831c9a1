# mistake: probe: no gradient
def head_contributions(heads, W_O, kept={}):
    num_heads, _, d_v = heads.shape[1:]
    return heads @ kept.setdefault(W_O.shape, W_O.reshape(num_heads, d_v, -1))
