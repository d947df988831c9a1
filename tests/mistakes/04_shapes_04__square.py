# mistake: square by habit
shape_W_O = (512, 512)
shape_weight = (512, 512)
