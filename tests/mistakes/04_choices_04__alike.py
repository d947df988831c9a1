# mistake: heads too alike
answer_without_W_O = "C"
answer_toy = "D"
