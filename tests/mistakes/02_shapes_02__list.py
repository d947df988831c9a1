# mistake: probe: another type
shape_q_heads = [32, 8, 50, 64]
answer_d_k = 4.0
shape_k_heads = "(32, 8, 70, 64)"
