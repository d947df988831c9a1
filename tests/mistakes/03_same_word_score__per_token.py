# mistake: one number for each token
import torch


def same_word_score(A, tokens):
    same = torch.tensor([[i != j and a == b for j, b in enumerate(tokens)] for i, a in enumerate(tokens)])
    return (A * same).sum(-1)[:, same.any(-1)].mean(0)
