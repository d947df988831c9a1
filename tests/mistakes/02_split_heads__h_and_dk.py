# mistake: probe: shape: axes exchanged


def split_heads(x, num_heads):
    B, N, D = x.shape
    assert D % num_heads == 0
    return x.view(B, N, D // num_heads, num_heads).transpose(1, 2)
