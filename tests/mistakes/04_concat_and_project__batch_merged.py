# mistake: sentences mixed
def concat_and_project(heads, W_O):
    batch, num_heads, seq, d_v = heads.shape
    return heads.transpose(0, 2).reshape(batch, seq, num_heads * d_v) @ W_O
