# mistake: queries and keys swapped
shape_cross_scores = (16, 8, 60, 40)
shape_padding = (16, 1, 1, 60)
