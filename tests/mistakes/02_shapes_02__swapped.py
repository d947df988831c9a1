# mistake: axes swapped
shape_q_heads = (32, 50, 8, 64)
answer_d_k = 4
shape_k_heads = (32, 70, 8, 64)
