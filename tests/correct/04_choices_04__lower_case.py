# style: small letters
answer_without_W_O = "c"
answer_toy = "a"
