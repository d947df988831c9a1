# style: contiguous, checked first with divmod
import torch


def split_heads(x, num_heads):
    d_k, rest = divmod(x.shape[2], num_heads)
    if rest:
        raise ValueError(f"{num_heads} heads do not fit")
    return torch.cat([x[:, :, None, i * d_k:(i + 1) * d_k] for i in range(num_heads)], 2).movedim(2, 1).contiguous()
