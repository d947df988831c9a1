# mistake: masked after the softmax
def masked_softmax(scores, mask):
    return scores.softmax(-1) * mask
