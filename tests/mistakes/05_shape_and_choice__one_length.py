# mistake: one length for both
shape_cross_weights = (16, 8, 25, 25)
answer_defaults = "C"
