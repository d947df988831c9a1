# mistake: heads not added up
def concat_and_project(heads, W_O):
    batch, num_heads, seq, d_v = heads.shape
    return heads @ W_O.view(num_heads, d_v, -1)
