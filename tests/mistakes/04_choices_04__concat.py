# mistake: concat mixes
answer_without_W_O = "C"
answer_toy = "B"
