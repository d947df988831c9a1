# mistake: shape forgotten
answer_mask = "B"
answer_root = "C"
