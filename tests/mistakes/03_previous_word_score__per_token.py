# mistake: one number for each token
import torch


def previous_word_score(A):
    return torch.diagonal(A, -1, 1, 2).mean(0)
