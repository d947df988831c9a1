# style: small letter
answer_blend = "b"
