# mistake: probe: another dtype


def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError
    return x.long().unflatten(-1, (num_heads, -1)).transpose(1, 2)
