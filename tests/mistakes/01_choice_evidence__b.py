# mistake: each head is a grammar rule
answer_evidence = "B"
