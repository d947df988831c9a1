# mistake: share for the output
toy_share_1 = [3.5, 6.0]
toy_output = [0.5, 2.0]
