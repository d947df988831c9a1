# mistake: mean within the row
import torch


def same_word_score(A, tokens):
    same = torch.tensor([[float(a == b) for b in tokens] for a in tokens])
    same = same - torch.eye(len(tokens))
    rows = same.any(-1)
    return ((A * same).sum(-1)[:, rows] / same.sum(-1)[rows]).mean(-1)
