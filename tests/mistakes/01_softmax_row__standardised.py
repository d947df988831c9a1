# mistake: probe: negative weights


def softmax_row(scores):
    return (scores - scores.mean()) / scores.std()
