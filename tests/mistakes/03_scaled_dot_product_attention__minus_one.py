# mistake: mask added to the scores
import torch


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1)
    scores = scores * (query.shape[-1] ** -0.5)
    if mask is not None:
        scores = scores - (1 - mask.float())
    probs = torch.nn.functional.softmax(scores, dim=-1)
    dropped = probs if dropout is None else dropout(probs)
    return dropped @ value, probs
