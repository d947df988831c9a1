# style: shifted identity
import torch


def previous_word_score(A):
    S = A.shape[-1]
    return (A[:, 1:, :-1] * torch.eye(S - 1)).sum((1, 2)) / (S - 1)
