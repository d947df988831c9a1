# style: einsum with a table of zeros and ones
import torch


def split_heads(x, num_heads):
    d_model = x.shape[-1]
    if d_model % num_heads:
        raise ValueError("num_heads must divide d_model")
    place = torch.eye(d_model).reshape(d_model, num_heads, d_model // num_heads)
    return torch.einsum("bnf,fhd->bhnd", x, place)
