# mistake: rescaled with the bias
def ablate_head(heads, W_o, i):
    kept = heads.clone()
    kept[:, i] = 0
    num_heads = heads.shape[1]
    return W_o(kept.transpose(1, 2).flatten(2)) * num_heads / (num_heads - 1)
