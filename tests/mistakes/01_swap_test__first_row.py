# mistake: wrong row
one_blend = [6.02, 4.34, 2.65, 2.65, 4.34, 6.02]
one_blend_swapped = [4.5, 4.5, 2, 2, 4.5, 4.5]
two_heads = [2, 7, 2, 2, 2, 7]
