# mistake: heads lost
shape_cross_scores = (16, 1, 40, 60)
shape_padding = (16, 1, 1, 60)
