# mistake: features in the weights
shape_cross_weights = (16, 8, 25, 64)
answer_defaults = "C"
