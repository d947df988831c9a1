# mistake: probe: one for all


def split_heads(x, num_heads):
    batch, seq, d_model = x.shape
    if d_model % num_heads:
        raise ValueError("no")
    one = x[0].reshape(seq, num_heads, -1).transpose(0, 1)
    return one.expand(batch, -1, -1, -1)
