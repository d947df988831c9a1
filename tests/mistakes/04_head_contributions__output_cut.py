# mistake: whole W_O, output cut
def head_contributions(heads, W_O):
    batch, num_heads, seq, d_v = heads.shape
    output = heads.transpose(1, 2).reshape(batch, seq, -1) @ W_O
    return output.reshape(batch, seq, num_heads, -1).transpose(1, 2)
