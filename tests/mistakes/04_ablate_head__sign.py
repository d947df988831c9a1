# mistake: added once more
def ablate_head(heads, W_o, i):
    d_v = heads.shape[3]
    part = heads[:, i] @ W_o.weight[:, i * d_v:(i + 1) * d_v].T
    return W_o(heads.transpose(1, 2).flatten(2)) + part
