# mistake: probe: right in part


def softmax_row(scores):
    e = scores.exp()
    return e / e.cumsum(0)
