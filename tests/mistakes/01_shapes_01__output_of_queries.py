# mistake: output as long as a query


shape_scores = (4, 7)
shape_weights = (4, 7)
shape_output = (4, 3)
