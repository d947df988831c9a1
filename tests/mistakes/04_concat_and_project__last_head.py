# mistake: last head only
def concat_and_project(heads, W_O):
    d_v = heads.shape[3]
    for i in range(heads.shape[1]):
        output = heads[:, i] @ W_O[i * d_v:(i + 1) * d_v]
    return output
