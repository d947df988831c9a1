# style: whole numbers and tuples
toy_share_1 = (0.5, 2)
toy_output = (3.5, 6)
