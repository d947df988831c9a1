# mistake: mask turned round


def masked_softmax(scores, mask):
    return scores.masked_fill(mask, -1e9).softmax(-1) * ~mask
