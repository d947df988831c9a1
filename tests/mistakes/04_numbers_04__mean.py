# mistake: mean instead of sum
toy_share_1 = [0.5, 2.0]
toy_output = [1.75, 3.0]
