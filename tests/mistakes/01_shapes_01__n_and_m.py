# mistake: N and M swapped
shape_scores = (7, 4)
shape_weights = (7, 4)
shape_output = (7, 5)
