# mistake: counted from the end


def find_head(attention, score):
    best, where = -1.0, None
    for layer in range(len(attention)):
        values = score(attention[layer])
        for head in range(len(values)):
            if values[head] > best:
                best, where = float(values[head]), (layer, head - len(values))
    return where
