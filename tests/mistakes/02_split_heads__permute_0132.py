# mistake: probe: shape: axes in another order


def split_heads(x, num_heads):
    b, n, d = x.shape
    if d % num_heads != 0:
        raise ValueError("d_model not divisible")
    return x.view(b, n, num_heads, d // num_heads).permute(0, 1, 3, 2)
