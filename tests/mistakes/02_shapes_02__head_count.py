# mistake: the head count for d_k
shape_q_heads = (32, 8, 50, 8)
answer_d_k = 4
shape_k_heads = (32, 8, 70, 8)
