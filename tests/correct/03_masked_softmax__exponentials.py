# style: exponentials
def masked_softmax(scores, mask):
    exps = (scores - scores.amax(-1, keepdim=True).detach()).exp() * mask
    return exps / exps.sum(-1, keepdim=True).clamp(min=1e-20)
