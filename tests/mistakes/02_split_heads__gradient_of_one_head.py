# mistake: probe: empty in part
import torch


def split_heads(x, num_heads):
    batch, seq, d_model = x.shape
    assert d_model % num_heads == 0
    heads = x.view(batch, seq, num_heads, d_model // num_heads).transpose(1, 2)
    return torch.cat([heads[:, :1], heads[:, 1:].detach()], dim=1)
