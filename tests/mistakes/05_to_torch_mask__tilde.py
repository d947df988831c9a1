# mistake: only for booleans
def to_torch_mask(mask):
    return ~mask
