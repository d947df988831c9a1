# mistake: no check of a bad count


def split_heads(x, num_heads):
    B, N, D = x.shape
    if D % num_heads:
        raise TypeError("num_heads does not divide d_model")
    return x.view(B, N, num_heads, D // num_heads).transpose(1, 2)
