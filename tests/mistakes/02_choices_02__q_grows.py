# mistake: Q grows with h
answer_x_split = "B"
answer_doubles = "C"
