# mistake: other head
toy_share_1 = [3, 4]
toy_output = [3.5, 6.0]
