# style: small letters
answer_x_split = "b"
answer_doubles = "d"
