# mistake: probe: another type
shape_W_O = [240, 512]
shape_weight = [512, 240]
