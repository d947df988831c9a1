# mistake: the query's length for K
shape_q_heads = (32, 8, 50, 64)
answer_d_k = 4
shape_k_heads = (32, 8, 50, 64)
