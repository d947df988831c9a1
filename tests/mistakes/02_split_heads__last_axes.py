# mistake: last axes transposed
def split_heads(x, num_heads):
    batch, seq, d_model = x.shape
    assert d_model % num_heads == 0
    return x.reshape(batch, seq, num_heads, d_model // num_heads).transpose(1, 2).transpose(-1, -2)
