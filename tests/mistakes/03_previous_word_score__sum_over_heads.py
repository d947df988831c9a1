# mistake: probe: shape: axis added up


def previous_word_score(A):
    return A.sum(0).diagonal(-1).mean()
