# mistake: probe: taken from elsewhere
def split_heads(x, num_heads):
    batch, seq, d_model = x.shape
    assert d_model % num_heads == 0
    d_k = d_model // num_heads
    return x.as_strided((batch, num_heads, seq, d_k), (seq * d_model, d_k, d_model, 1))
