# mistake: probe: a list of tensors
def head_contributions(heads, W_O):
    num_heads, d_v = heads.shape[1], heads.shape[3]
    return [heads[:, i] @ W_O[i * d_v:(i + 1) * d_v] for i in range(num_heads)]
