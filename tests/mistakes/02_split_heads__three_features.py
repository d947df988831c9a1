# mistake: own error
def split_heads(x, num_heads):
    batch, seq, d_model = x.shape
    assert d_model % num_heads == 0
    return x.view(batch, seq, -1, 3).transpose(1, 2)
