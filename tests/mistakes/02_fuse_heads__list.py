# mistake: probe: a list of tensors


def fuse_heads(per_head):
    fused = []
    for W in per_head:
        fused.append(W)
    return fused
