# mistake: X is cut
answer_x_split = "A"
answer_doubles = "D"
