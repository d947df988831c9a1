# mistake: features instead of keys
shape_cross_scores = (16, 8, 40, 64)
shape_padding = (16, 1, 1, 60)
