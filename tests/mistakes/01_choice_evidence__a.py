# mistake: -
answer_evidence = "A"
