# mistake: interleaved split
def split_heads(x, num_heads):
    batch, seq, d_model = x.shape
    assert d_model % num_heads == 0
    return x.reshape(batch, seq, d_model // num_heads, num_heads).permute(0, 3, 1, 2)
