# mistake: replaced, not cut
def ablate_head(heads, W_o, i):
    kept = heads.clone()
    kept[:, i] = kept[:, i].mean(dim=(0, 1))
    return W_o(kept.transpose(1, 2).flatten(2))
