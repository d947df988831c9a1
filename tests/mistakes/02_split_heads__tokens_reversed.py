# mistake: probe: reversed


def split_heads(x, num_heads):
    B, N, D = x.shape
    if D % num_heads:
        raise ValueError
    out = x.new_zeros(B, num_heads, N, D // num_heads)
    for n in range(N):
        out[:, :, N - 1 - n] = x[:, n].reshape(B, num_heads, -1)
    return out
