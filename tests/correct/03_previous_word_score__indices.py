# style: index lists
import torch


def previous_word_score(A):
    rows = torch.arange(1, A.shape[-1])
    return A[:, rows, rows - 1].mean(1)
