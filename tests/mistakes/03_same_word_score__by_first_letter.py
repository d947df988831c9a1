# mistake: other words counted
import torch


def same_word_score(A, tokens):
    same = torch.tensor([[float(a[0] == b[0]) for b in tokens] for a in tokens])
    same = same - torch.eye(len(tokens))
    return (A * same).sum(-1)[:, same.any(-1)].mean(-1)
