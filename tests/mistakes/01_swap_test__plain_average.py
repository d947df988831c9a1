# mistake: plain average
one_blend = [4, 4, 4, 4, 4, 4]
one_blend_swapped = [4, 4, 4, 4, 4, 4]
two_heads = [4, 4, 4, 4, 4, 4]
