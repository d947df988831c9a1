# mistake: probe: moved


def merge_heads(x):
    b, h, n, d = x.shape
    return x.reshape(b, h * d, n).transpose(1, 2)
