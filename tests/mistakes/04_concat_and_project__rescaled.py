# mistake: probe: constant factor
def concat_and_project(heads, W_O):
    batch, num_heads, seq, d_v = heads.shape
    return heads.transpose(1, 2).reshape(batch, seq, num_heads * d_v) @ W_O / d_v ** 0.5
