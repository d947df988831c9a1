# mistake: not boolean, as numbers
def to_torch_mask(mask):
    return 1 - mask.float()
