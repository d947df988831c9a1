# mistake: probe: another type
shape_cross_scores = [16, 8, 40, 60]
shape_padding = [16, 1, 1, 60]
