# mistake: every head is full width
answer_x_split = "D"
answer_doubles = "D"
