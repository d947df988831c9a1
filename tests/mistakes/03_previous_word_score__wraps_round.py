# mistake: row 0 looks at the end
import torch


def previous_word_score(A):
    return torch.stack([A[:, i, i - 1] for i in range(A.shape[1])]).mean(0)
