# mistake: own error
import torch


def same_word_score(A, tokens):
    at = [i for i, token in enumerate(tokens) if token == "the"]
    return torch.stack([A[:, i, j] for i in at for j in at if i != j]).sum(0) / len(at)
