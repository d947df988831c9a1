# mistake: heads changed in place


def ablate_head(heads, W_o, i):
    heads[:, i] = 0.0
    return W_o(heads.transpose(1, 2).flatten(2))
