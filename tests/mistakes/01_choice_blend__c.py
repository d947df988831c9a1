# mistake: -
answer_blend = "C"
