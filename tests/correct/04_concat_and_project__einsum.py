# style: einsum with blocks of W_O
import torch


def concat_and_project(heads, W_O):
    batch, num_heads, seq, d_v = heads.shape
    return torch.einsum("bhnd,hdf->bnf", heads, W_O.reshape(num_heads, d_v, -1))
