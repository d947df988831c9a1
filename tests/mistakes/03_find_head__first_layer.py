# mistake: first layer only
def find_head(attention, score):
    return 0, score(attention[0]).argmax().item()
