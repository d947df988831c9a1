# mistake: other head for the output
toy_share_1 = [0.5, 2.0]
toy_output = [3.0, 4.0]
