# mistake: both as in the formula
shape_W_O = (240, 512)
shape_weight = (240, 512)
