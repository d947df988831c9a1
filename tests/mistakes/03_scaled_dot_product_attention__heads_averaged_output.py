# mistake: probe: same for all
import math


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(-1)
    if dropout is not None:
        weights = dropout(weights)
    out = weights @ value
    if out.dim() > 3:
        out = out.mean(1, keepdim=True).expand_as(out)
    return out, weights
