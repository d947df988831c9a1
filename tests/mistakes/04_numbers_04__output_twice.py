# mistake: output for the share
toy_share_1 = [3.5, 6.0]
toy_output = [3.5, 6.0]
