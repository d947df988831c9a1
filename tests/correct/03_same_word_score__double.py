# style: float64 answer
import torch


def same_word_score(A, tokens):
    wide, out = A.double(), []
    for head in wide:
        rows = [sum(head[i, j] for j in range(len(tokens)) if j != i and tokens[j] == t)
                for i, t in enumerate(tokens) if list(tokens).count(t) > 1]
        out.append(sum(rows) / len(rows))
    return torch.stack(out)
