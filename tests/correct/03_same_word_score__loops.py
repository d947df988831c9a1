# style: loops
import torch


def same_word_score(A, tokens):
    rows = []
    for i, token in enumerate(tokens):
        others = [j for j, t in enumerate(tokens) if t == token and j != i]
        if others:
            rows.append(A[:, i, others].sum(dim=1))
    return torch.stack(rows).mean(dim=0)
