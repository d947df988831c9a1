# style: words numbered
import torch


def same_word_score(A, tokens):
    kinds = sorted(set(tokens))
    ids = torch.tensor([kinds.index(t) for t in tokens])
    same = (ids[:, None] == ids[None, :]).fill_diagonal_(False)
    return (A * same).sum((-1, -2)) / same.any(1).sum()
