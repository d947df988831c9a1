# mistake: W_O reshaped across rows
def head_contributions(heads, W_O):
    num_heads, d_v = heads.shape[1], heads.shape[3]
    return heads @ W_O.reshape(num_heads, -1, d_v).transpose(1, 2)
