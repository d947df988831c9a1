# style: logical_not
def to_torch_mask(mask):
    return mask.logical_not()
