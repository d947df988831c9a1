# mistake: not boolean
def to_torch_mask(mask):
    return 1 - mask.int() if not mask.is_floating_point() else 1 - mask
