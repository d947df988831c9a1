# mistake: all rows counted
import torch


def same_word_score(A, tokens):
    total = torch.zeros(A.shape[0])
    for i, t in enumerate(tokens):
        for j, u in enumerate(tokens):
            if i != j and t == u:
                total += A[:, i, j]
    return total / len(tokens)
