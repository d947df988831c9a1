# mistake: probe: shape: axes in another order


def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError("bad")
    b, n, d = x.shape
    return x.reshape(b, n, num_heads, -1).transpose(1, 3)
