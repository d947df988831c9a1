# mistake: hits counted
import torch


def previous_word_score(A):
    places = torch.arange(1, A.shape[1])
    return (A.argmax(-1)[:, 1:] == places - 1).float().mean(-1)
