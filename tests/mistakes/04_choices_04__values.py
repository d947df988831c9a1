# mistake: values take over
answer_without_W_O = "C"
answer_toy = "C"
