# mistake: probe: moved


def split_heads(x, num_heads):
    batch, seq, d_model = x.shape
    assert d_model % num_heads == 0
    return x.reshape(seq, batch, num_heads, d_model // num_heads).permute(1, 2, 0, 3)
