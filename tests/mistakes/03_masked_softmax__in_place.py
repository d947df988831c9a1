# mistake: probe: changed in place
def masked_softmax(scores, mask):
    scores[~mask.expand(scores.shape)] = -1e9
    return scores.softmax(-1) * mask
