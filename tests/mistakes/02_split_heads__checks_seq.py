# mistake: own error


def split_heads(x, num_heads):
    batch, d_model, seq = x.shape
    if d_model % num_heads != 0:
        raise ValueError("num_heads must divide d_model")
    return x.reshape(batch, d_model, num_heads, seq // num_heads).transpose(1, 2)
