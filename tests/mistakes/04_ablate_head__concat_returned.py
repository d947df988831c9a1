# mistake: W_o not applied


def ablate_head(heads, W_o, i):
    kept = heads.clone()
    kept[:, i] = 0
    return kept.transpose(1, 2).flatten(2)
