# mistake: probe: form
shape_cross_weights = [16, 8, 25, 30]
answer_defaults = "C"
