# mistake: own error
def concat_and_project(heads, W_O):
    batch, num_heads, seq, d_v = heads.shape
    return heads.transpose(1, 2).view(batch, seq, num_heads * d_v) @ W_O
