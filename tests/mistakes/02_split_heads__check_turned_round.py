# mistake: own error


def split_heads(x, num_heads):
    batch, seq, d_model = x.shape
    if d_model % num_heads == 0:
        raise ValueError("num_heads must divide d_model")
    return x.view(batch, seq, num_heads, d_model // num_heads).transpose(1, 2)
