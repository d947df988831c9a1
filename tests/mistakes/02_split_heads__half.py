# mistake: probe: nearly


def split_heads(x, num_heads):
    assert x.shape[-1] % num_heads == 0
    y = x.half()
    return y.reshape(*x.shape[:2], num_heads, -1).transpose(1, 2).float()
