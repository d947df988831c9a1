# style: exact numbers in tuples
one_blend = (4.504, 4.504, 1.982, 1.982, 4.504, 4.504)
one_blend_swapped = one_blend
two_heads = (2.001, 6.996, 2.001, 2.001, 2.001, 6.996)
