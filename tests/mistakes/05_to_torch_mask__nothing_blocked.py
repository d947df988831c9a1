# mistake: probe: says one thing


def to_torch_mask(mask):
    return mask < 0
