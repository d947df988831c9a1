# mistake: keeps the sum
answer_mask = "D"
answer_root = "A"
