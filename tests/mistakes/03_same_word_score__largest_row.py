# mistake: another statistic
import torch


def same_word_score(A, tokens):
    same = torch.tensor([[float(a == b) for a in tokens] for b in tokens]) - torch.eye(len(tokens))
    kept = same.sum(-1) > 0
    return (A * same).sum(-1)[:, kept].max(-1).values
