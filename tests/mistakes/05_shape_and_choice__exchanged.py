# mistake: queries and keys exchanged
shape_cross_weights = (16, 8, 30, 25)
answer_defaults = "C"
