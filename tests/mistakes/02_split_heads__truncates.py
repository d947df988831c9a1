# mistake: silent truncation
def split_heads(x, num_heads):
    batch, seq, d_model = x.shape
    d_k = d_model // num_heads
    return x[..., :num_heads * d_k].reshape(batch, seq, num_heads, d_k).transpose(1, 2)
