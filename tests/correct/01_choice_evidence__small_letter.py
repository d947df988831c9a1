# style: small letter
answer_evidence = "d"
