# style: contiguous before view
def merge_heads(x):
    batch, num_heads, seq, d_v = x.shape
    return x.transpose(1, 2).contiguous().view(batch, seq, num_heads * d_v)
