# mistake: probe: repeated and lost


def fuse_heads(per_head):
    return per_head[0].repeat(1, len(per_head))
