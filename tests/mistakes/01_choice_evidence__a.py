# mistake: BLEU proves it
answer_evidence = "A"
