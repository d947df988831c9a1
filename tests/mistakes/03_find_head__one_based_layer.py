# mistake: layer counted from 1


def find_head(attention, score):
    best = None
    for number, layer in enumerate(attention, start=1):
        for head, value in enumerate(score(layer).tolist()):
            if best is None or value > best[0]:
                best = (value, number, head)
    return best[1:]
