# mistake: averaged over the heads
shape_cross_weights = (16, 25, 30)
answer_defaults = "C"
