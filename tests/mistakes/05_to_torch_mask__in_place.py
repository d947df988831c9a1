# mistake: probe: changed in place
def to_torch_mask(mask):
    return mask.copy_(mask == 0).bool()
