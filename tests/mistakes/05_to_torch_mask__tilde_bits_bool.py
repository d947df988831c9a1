# mistake: turned round bit by bit, then boolean
def to_torch_mask(mask):
    return (~mask).bool() if not mask.is_floating_point() else mask == 0
