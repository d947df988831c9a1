# mistake: columns of the share exchanged
toy_share_1 = [2.0, 0.5]
toy_output = [3.5, 6.0]
