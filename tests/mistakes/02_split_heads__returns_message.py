# mistake: bad count gives None


def split_heads(x, num_heads):
    batch, seq, d_model = x.shape
    if d_model % num_heads != 0:
        print("num_heads must divide d_model")
        return None
    return x.reshape(batch, seq, num_heads, d_model // num_heads).transpose(1, 2)
