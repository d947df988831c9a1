# mistake: another function for exp


def softmax_row(scores):
    return scores ** 2 / (scores ** 2).sum()
