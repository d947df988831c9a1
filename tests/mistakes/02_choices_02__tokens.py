# mistake: tokens are shared out
answer_x_split = "C"
answer_doubles = "D"
