# mistake: probe: shape: numbers in another shape


def split_heads(x, num_heads):
    B, N, D = x.shape
    if D % num_heads:
        raise ValueError
    return x.reshape(B, N, num_heads, D // num_heads).transpose(1, 2).reshape(B * num_heads, N, D // num_heads)
