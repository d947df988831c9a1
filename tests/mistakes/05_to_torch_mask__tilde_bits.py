# mistake: turned round bit by bit
def to_torch_mask(mask):
    return ~mask if not mask.is_floating_point() else mask == 0
