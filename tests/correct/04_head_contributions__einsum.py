# style: einsum
import torch


def head_contributions(heads, W_O):
    num_heads, d_v = heads.shape[1], heads.shape[3]
    return torch.einsum("bhnd,hdf->bhnf", heads, W_O.unflatten(0, (num_heads, d_v)))
