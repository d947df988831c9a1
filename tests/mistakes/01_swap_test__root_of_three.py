# mistake: scaled by three
one_blend = [4.67, 4.67, 1.33, 1.33, 4.67, 4.67]
one_blend_swapped = [4.67, 4.67, 1.33, 1.33, 4.67, 4.67]
two_heads = [2, 7, 2, 2, 2, 7]
