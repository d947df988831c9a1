# mistake: own error
def merge_heads(x):
    batch, num_heads, seq, d_v = x.shape
    return x.transpose(1, 2).view(batch, seq, num_heads * d_v)
