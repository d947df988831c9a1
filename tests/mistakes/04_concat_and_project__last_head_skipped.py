# mistake: heads left out
def concat_and_project(heads, W_O):
    d_v, output = heads.shape[3], 0
    for i in range(heads.shape[1] - 1):
        output = output + heads[:, i] @ W_O[i * d_v:(i + 1) * d_v]
    return output
