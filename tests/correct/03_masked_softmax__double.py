# style: float64 inside


def masked_softmax(scores, mask):
    s = scores.double()
    top = s.max(-1, keepdim=True).values.detach()
    e = (s - top).exp() * mask
    z = e.sum(-1, keepdim=True)
    return (e / (z + (z == 0))).to(scores.dtype)
