# style: unflatten and movedim
def split_heads(x, num_heads):
    assert x.shape[-1] % num_heads == 0, "num_heads must divide d_model"
    return x.unflatten(-1, (num_heads, -1)).movedim(-2, -3)
