# mistake: a change of size only
answer_without_W_O = "B"
answer_toy = "A"
