# mistake: -
answer_blend = "D"
