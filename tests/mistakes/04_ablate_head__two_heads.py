# mistake: other heads cut


def ablate_head(heads, W_o, i):
    joined = heads.transpose(1, 2).flatten(2).clone()
    d_v = heads.size(3)
    joined[..., i * d_v:(i + 2) * d_v] = 0
    return W_o(joined)
