# mistake: probe: nothing returned


def split_heads(x, num_heads):
    if x.shape[2] % num_heads:
        raise ValueError
    y = x.view(x.shape[0], x.shape[1], num_heads, -1).transpose(1, 2)
