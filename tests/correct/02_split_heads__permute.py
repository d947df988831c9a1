# style: reshape and permute
def split_heads(x, num_heads):
    batch, seq, d_model = x.shape
    if d_model % num_heads != 0:
        raise ValueError(f"{num_heads} does not divide {d_model}")
    return x.reshape(batch, seq, num_heads, -1).permute(0, 2, 1, 3).contiguous()
