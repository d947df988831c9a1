# mistake: features instead of pairs
shape_scores = (4, 7)
shape_weights = (4, 5)
shape_output = (4, 5)
