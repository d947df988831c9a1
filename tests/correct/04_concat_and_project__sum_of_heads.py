# style: sum over heads


def concat_and_project(heads, W_O):
    d = heads.size(-1)
    out = 0
    for i, head in enumerate(heads.unbind(dim=1)):
        out = out + head.matmul(W_O.narrow(0, i * d, d))
    return out
