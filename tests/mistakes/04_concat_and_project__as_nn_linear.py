# mistake: W_O transposed
import torch.nn.functional as F


def concat_and_project(heads, W_O):
    batch, num_heads, seq, d_v = heads.shape
    return F.linear(heads.transpose(1, 2).reshape(batch, seq, num_heads * d_v), W_O)
