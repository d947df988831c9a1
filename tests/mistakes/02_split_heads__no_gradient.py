# mistake: probe: no gradient
import torch


def split_heads(x, num_heads):
    batch, seq, d_model = x.shape
    assert d_model % num_heads == 0
    rows = torch.tensor(x.tolist())
    return rows.view(batch, seq, num_heads, d_model // num_heads).transpose(1, 2)
