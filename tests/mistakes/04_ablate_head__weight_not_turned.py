# mistake: own error


def ablate_head(heads, W_o, i):
    h = heads.clone()
    h[:, i].zero_()
    return h.transpose(1, 2).flatten(2) @ W_o.weight + W_o.bias
