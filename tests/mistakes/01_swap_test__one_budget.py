# mistake: one blend for two heads
one_blend = [4.5, 4.5, 2, 2, 4.5, 4.5]
one_blend_swapped = [4.5, 4.5, 2, 2, 4.5, 4.5]
two_heads = [4.5, 4.5, 2, 2, 4.5, 4.5]
