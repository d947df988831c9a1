# mistake: made smaller, not cut


def ablate_head(heads, W_o, i):
    kept = heads.clone()
    kept[:, i] *= 0.5
    return W_o(kept.transpose(1, 2).flatten(2))
