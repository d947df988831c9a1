# mistake: -
answer_evidence = "C"
