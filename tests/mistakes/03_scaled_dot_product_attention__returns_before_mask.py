# mistake: weights from before the mask


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    s = query @ key.mT / query.shape[-1] ** 0.5
    plain = s.softmax(-1)
    if mask is not None:
        s = s.masked_fill(mask == 0, -1e9)
    a = s.softmax(-1)
    if dropout is not None:
        a = dropout(a)
    return a @ value, plain
