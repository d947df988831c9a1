# mistake: d_model for d_k
shape_q_heads = (32, 8, 50, 512)
answer_d_k = 16
shape_k_heads = (32, 8, 70, 512)
