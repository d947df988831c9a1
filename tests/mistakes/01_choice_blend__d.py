# mistake: a later matrix mends it
answer_blend = "D"
