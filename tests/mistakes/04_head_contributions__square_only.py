# mistake: own error
def head_contributions(heads, W_O):
    num_heads, d_v = heads.shape[1], heads.shape[3]
    d_model = num_heads * d_v
    return heads @ W_O.reshape(num_heads, d_v, d_model)
