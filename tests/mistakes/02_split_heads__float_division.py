# mistake: own error


def split_heads(x, num_heads):
    b, n, d = x.shape
    if d % num_heads != 0:
        raise ValueError("d_model not divisible")
    d_k = d / num_heads
    return x.view(b, n, num_heads, d_k).transpose(1, 2)
