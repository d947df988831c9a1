# mistake: heads never mix again
answer_without_W_O = "A"
answer_toy = "A"
