# mistake: view-only split, then transposed
def split_heads(x, num_heads):
    batch, seq, d_model = x.shape
    assert d_model % num_heads == 0
    return x.reshape(batch, num_heads, d_model // num_heads, seq).transpose(2, 3)
