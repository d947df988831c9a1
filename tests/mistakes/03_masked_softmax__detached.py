# mistake: probe: no gradient
def masked_softmax(scores, mask):
    return scores.detach().masked_fill(~mask, -1e9).softmax(-1) * mask
