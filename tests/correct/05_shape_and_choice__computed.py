# style: computed from names
shape_cross_weights = (16, 8, *(25, 30))
answer_defaults = "c "
