# style: einsum with a table of zeros and ones
import torch


def merge_heads(x):
    _, num_heads, _, d_v = x.shape
    place = torch.eye(num_heads * d_v).view(num_heads, d_v, -1)
    return torch.einsum("bhnd,hdf->bnf", x, place)
