# style: all heads at once
def find_head(attention, score):
    best = int(score(attention.flatten(0, 1)).argmax())
    return best // attention.shape[1], best % attention.shape[1]
