# mistake: merged without moving the head axis
def merge_heads(x):
    batch, num_heads, seq, d_v = x.shape
    return x.reshape(batch, seq, num_heads * d_v)
