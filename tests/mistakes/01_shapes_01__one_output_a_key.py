# mistake: one output for each word looked at


shape_scores = (4, 7)
shape_weights = (4, 7)
shape_output = (7, 5)
