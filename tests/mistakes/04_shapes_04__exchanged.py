# mistake: orientation exchanged
shape_W_O = (512, 240)
shape_weight = (240, 512)
