# mistake: calls a right split wrong
def catches_wrong_split(split_fn):
    return True
