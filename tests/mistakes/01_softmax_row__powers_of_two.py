# mistake: probe: too even


def softmax_row(scores):
    powers = 2.0 ** scores
    return powers / powers.sum()
