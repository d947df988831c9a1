# mistake: both as in nn.Linear
shape_W_O = (512, 240)
shape_weight = (512, 240)
