# mistake: probe: same for all
import torch


def previous_word_score(A):
    return torch.diagonal(A, -1, 1, 2).mean().expand(A.shape[0])
