# mistake: output features cut
def ablate_head(heads, W_o, i):
    d_v = heads.shape[3]
    output = W_o(heads.transpose(1, 2).flatten(2)).clone()
    output[..., i * d_v:(i + 1) * d_v] = 0
    return output
