# style: sum over the other heads, bias once
def ablate_head(heads, W_o, i):
    d_v = heads.shape[3]
    output = W_o.bias
    for k in range(heads.shape[1]):
        if k != i:
            output = output + heads[:, k] @ W_o.weight[:, k * d_v:(k + 1) * d_v].T
    return output
