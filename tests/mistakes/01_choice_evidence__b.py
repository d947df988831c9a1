# mistake: -
answer_evidence = "B"
