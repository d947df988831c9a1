# mistake: probe: same row added


def ablate_head(heads, W_o, i):
    kept = heads.clone()
    kept[:, i] = 0
    return kept.transpose(1, 2).flatten(2) @ W_o.weight.T - W_o.bias
