# mistake: the more heads the better
answer_evidence = "C"
