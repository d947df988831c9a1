# mistake: interleaved merge
def merge_heads(x):
    batch, num_heads, seq, d_v = x.shape
    return x.permute(0, 2, 3, 1).reshape(batch, seq, num_heads * d_v)
