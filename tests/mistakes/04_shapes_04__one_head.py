# mistake: one head only
shape_W_O = (40, 512)
shape_weight = (512, 40)
