# style: by hand, rounded
one_blend = [4.5, 4.5, 2, 2, 4.5, 4.5]
one_blend_swapped = [4.5, 4.5, 2, 2, 4.5, 4.5]
two_heads = [2, 7, 2, 2, 2, 7]
