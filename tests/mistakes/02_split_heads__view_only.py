# mistake: view-only split
def split_heads(x, num_heads):
    batch, seq, d_model = x.shape
    assert d_model % num_heads == 0
    return x.contiguous().view(batch, num_heads, seq, d_model // num_heads)
