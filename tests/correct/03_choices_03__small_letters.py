# style: small letters
answer_mask = "d"
answer_root = "c"
