# mistake: query and key normalised
import torch


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    q = torch.nn.functional.normalize(query, dim=-1)
    k = torch.nn.functional.normalize(key, dim=-1)
    scores = q @ k.mT
    if mask is not None:
        scores = torch.where(mask.bool(), scores, torch.tensor(-1e9))
    w = torch.softmax(scores, -1)
    if dropout is not None:
        w = dropout(w)
    return w @ value, w
