# mistake: other words counted
import torch


def same_word_score(A, tokens):
    other = torch.tensor([[float(a != b) for b in tokens] for a in tokens])
    return (A * other).sum(-1).mean(-1)
