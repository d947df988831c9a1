# style: two loops
def find_head(attention, score):
    best, place = -1.0, None
    for layer in range(len(attention)):
        for head, value in enumerate(score(attention[layer]).tolist()):
            if value > best:
                best, place = value, (layer, head)
    return place
