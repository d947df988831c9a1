# mistake: -
answer_blend = "A"
