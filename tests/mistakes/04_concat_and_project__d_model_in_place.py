# mistake: probe: changed in place
def concat_and_project(heads, W_O):
    batch, num_heads, seq, d_v = heads.shape
    heads *= 2
    return heads.transpose(1, 2).reshape(batch, seq, num_heads * d_v) @ W_O / 2
