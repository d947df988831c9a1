# mistake: neither
answer_mask = "A"
answer_root = "C"
