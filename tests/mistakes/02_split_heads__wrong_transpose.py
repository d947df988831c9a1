# mistake: probe: shape: axes in another order


def split_heads(x, num_heads):
    B, N, D = x.shape
    assert D % num_heads == 0
    return x.view(B, N, num_heads, D // num_heads).transpose(0, 1)
