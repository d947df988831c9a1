# mistake: kept instead of cut
def ablate_head(heads, W_o, i):
    kept = heads.clone()
    kept[:, [k for k in range(heads.shape[1]) if k != i]] = 0
    return W_o(kept.transpose(1, 2).flatten(2))
