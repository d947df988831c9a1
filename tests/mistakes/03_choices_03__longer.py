# mistake: longer sentences
answer_mask = "D"
answer_root = "D"
