# mistake: polarity not flipped


def to_torch_mask(mask):
    return mask
