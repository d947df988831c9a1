# mistake: blocked scores set to 0
def masked_softmax(scores, mask):
    return (scores * mask).softmax(-1)
