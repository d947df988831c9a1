# mistake: block of the next head
def head_contributions(heads, W_O):
    num_heads, d_v = heads.shape[1], heads.shape[3]
    return heads @ W_O.reshape(num_heads, d_v, -1).roll(-1, 0)
