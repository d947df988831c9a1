# mistake: rows cut instead of columns
def ablate_head(heads, W_o, i):
    d_v = heads.shape[3]
    weight = W_o.weight.detach().clone()
    weight[i * d_v:(i + 1) * d_v] = 0
    return heads.transpose(1, 2).flatten(2) @ weight.T + W_o.bias
