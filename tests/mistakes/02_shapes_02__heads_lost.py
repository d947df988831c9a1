# mistake: heads lost
shape_q_heads = (32, 50, 512)
answer_d_k = 4
shape_k_heads = (32, 70, 512)
