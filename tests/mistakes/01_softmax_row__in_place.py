# mistake: probe: changed in place
def softmax_row(scores):
    scores -= scores.max()
    exps = scores.exp()
    return exps / exps.sum()
