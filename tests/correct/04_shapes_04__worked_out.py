# style: worked out from the sizes
shape_W_O = (6 * 40, 512)
shape_weight = shape_W_O[::-1]
