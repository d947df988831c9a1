# style: warns, prints, tensor_split
import torch


def split_heads(x, num_heads):
    import warnings
    warnings.warn("careful", stacklevel=2)
    print("splitting", x.shape)
    assert x.shape[2] % num_heads == 0
    return torch.stack(torch.tensor_split(x, num_heads, dim=2)).permute(1, 0, 2, 3)
