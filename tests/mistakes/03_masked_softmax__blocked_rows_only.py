# mistake: mask ignored
def masked_softmax(scores, mask):
    return scores.softmax(-1) * mask.any(-1, keepdim=True)
