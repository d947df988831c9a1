# mistake: contribution returned
def ablate_head(heads, W_o, i):
    d_v = heads.shape[3]
    return heads[:, i] @ W_o.weight[:, i * d_v:(i + 1) * d_v].T
