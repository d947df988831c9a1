# mistake: axes in another order
shape_cross_weights = (8, 16, 25, 30)
answer_defaults = "C"
