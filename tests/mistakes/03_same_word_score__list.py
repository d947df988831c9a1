# mistake: probe: a list of numbers


def same_word_score(A, tokens):
    result = []
    for head in A:
        rows = []
        for i, t in enumerate(tokens):
            others = [j for j, u in enumerate(tokens) if u == t and j != i]
            if others:
                rows.append(sum(float(head[i, j]) for j in others))
        result.append(sum(rows) / len(rows))
    return result
