# mistake: probe: a list of tensors


def split_heads(x, num_heads):
    if x.shape[2] % num_heads:
        raise ValueError
    return x.split(x.shape[2] // num_heads, dim=2)
