# mistake: own error


def split_heads(x, num_heads):
    b, n, d = x.shape
    if d % num_heads != 0:
        raise ValueError("d_model not divisible")
    return x.view(-1).view(b, n, num_heads, d // num_heads).transpose(1, 2)
