# mistake: own error
def to_torch_mask(mask):
    return (mask == 0).reshape(mask.shape[-2], mask.shape[-1])
