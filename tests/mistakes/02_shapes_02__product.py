# mistake: product for d_k


shape_q_heads = (32, 8, 50, 64)
answer_d_k = 64
shape_k_heads = (32, 8, 70, 64)
