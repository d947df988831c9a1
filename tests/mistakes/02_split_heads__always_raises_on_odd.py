# mistake: own error
def split_heads(x, num_heads):
    batch, seq, d_model = x.shape
    if d_model % num_heads or num_heads % 2:
        raise ValueError("an even number of heads, please")
    return x.view(batch, seq, num_heads, d_model // num_heads).transpose(1, 2)
