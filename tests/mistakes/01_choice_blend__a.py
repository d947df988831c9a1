# mistake: one word lost
answer_blend = "A"
