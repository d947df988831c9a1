# mistake: no transpose before the merge
def ablate_head(heads, W_o, i):
    kept = heads.clone()
    kept[:, i] = 0
    batch, num_heads, seq, d_v = heads.shape
    return W_o(kept.reshape(batch, seq, num_heads * d_v))
