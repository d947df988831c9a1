# mistake: blocked scores not low enough
def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, -10).softmax(-1) * mask
