# mistake: probe: changed in place


def merge_heads(x):
    out = x.transpose(1, 2).flatten(2).clone()
    x.mul_(0)
    return out
