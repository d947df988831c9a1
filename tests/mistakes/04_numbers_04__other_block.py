# mistake: block of the other head
toy_share_1 = [1, 5.5]
toy_output = [3.5, 6.0]
