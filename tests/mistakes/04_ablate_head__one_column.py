# mistake: one column cut
def ablate_head(heads, W_o, i):
    d_v = heads.shape[3]
    weight = W_o.weight.detach().clone()
    weight[:, i] = 0
    return heads.transpose(1, 2).flatten(2) @ weight.T + W_o.bias
