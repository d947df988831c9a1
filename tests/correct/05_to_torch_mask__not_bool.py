# style: bool, then ~
def to_torch_mask(mask):
    return ~mask.bool()
