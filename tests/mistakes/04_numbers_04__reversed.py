# mistake: heads in reversed order
toy_share_1 = [0.5, 2.0]
toy_output = [5.5, 7.0]
