# mistake: d_k grows with h
answer_x_split = "B"
answer_doubles = "B"
