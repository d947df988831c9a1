# mistake: makes scores positive
answer_mask = "D"
answer_root = "B"
