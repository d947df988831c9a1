# mistake: parameters grow with h
answer_x_split = "B"
answer_doubles = "A"
