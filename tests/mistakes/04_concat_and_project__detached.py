# mistake: probe: no gradient
def concat_and_project(heads, W_O):
    batch, num_heads, seq, d_v = heads.shape
    return heads.detach().transpose(1, 2).reshape(batch, seq, num_heads * d_v) @ W_O
