# mistake: rows left out
import torch


def same_word_score(A, tokens):
    same = torch.tensor([[float(a == b) for b in tokens] for a in tokens])
    same = same - torch.eye(len(tokens))
    same = same.tril()
    return (A * same).sum(-1)[:, same.any(-1)].mean(-1)
