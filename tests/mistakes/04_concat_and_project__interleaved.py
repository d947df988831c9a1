# mistake: features interleaved
def concat_and_project(heads, W_O):
    batch, num_heads, seq, d_v = heads.shape
    return heads.permute(0, 2, 3, 1).reshape(batch, seq, d_v * num_heads) @ W_O
