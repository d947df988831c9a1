# style: float64 inside, answers in float64
import torch


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    q, k, v = query.double(), key.double(), value.double()
    s = q @ k.mT * q.shape[-1] ** -0.5
    if mask is not None:
        s = torch.where(mask != 0, s, -torch.inf)
    w = torch.softmax(s, -1)
    w = w if dropout is None else dropout(w)
    return w @ v, w
