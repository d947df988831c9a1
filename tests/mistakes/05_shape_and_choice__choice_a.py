# mistake: an error would tell
shape_cross_weights = (16, 8, 25, 30)
answer_defaults = "A"
