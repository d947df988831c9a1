# mistake: batch lost
shape_q_heads = (8, 50, 64)
answer_d_k = 4
shape_k_heads = (8, 70, 64)
