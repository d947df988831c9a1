# mistake: columns exchanged
toy_share_1 = [2.0, 0.5]
toy_output = [6.0, 3.5]
