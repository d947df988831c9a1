# mistake: probe: changed in place
def same_word_score(A, tokens):
    total, rows = 0, 0
    for i, token in enumerate(tokens):
        others = [j for j, t in enumerate(tokens) if t == token and j != i]
        if others:
            total, rows = total + A[:, i, others].sum(-1), rows + 1
    A.zero_()
    return total / rows
