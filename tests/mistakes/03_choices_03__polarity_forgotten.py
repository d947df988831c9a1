# mistake: polarity forgotten
answer_mask = "C"
answer_root = "C"
