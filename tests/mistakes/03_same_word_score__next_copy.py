# mistake: next copy only
import torch


def same_word_score(A, tokens):
    last = {token: i for i, token in enumerate(tokens)}
    return torch.stack([A[:, i, last[t]] for i, t in enumerate(tokens) if last[t] != i]).mean(0)
