# mistake: weights change
answer_without_W_O = "D"
answer_toy = "A"
