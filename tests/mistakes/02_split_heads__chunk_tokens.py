# mistake: probe: reversed


def split_heads(x, num_heads):
    B, N, D = x.shape
    if D % num_heads:
        raise ValueError
    return x.transpose(1, 2).reshape(B, num_heads, D // num_heads, N).transpose(2, 3).flip(2)
