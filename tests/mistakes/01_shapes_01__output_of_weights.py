# mistake: output as wide as the weights


shape_scores = (4, 7)
shape_weights = (4, 7)
shape_output = (4, 7)
