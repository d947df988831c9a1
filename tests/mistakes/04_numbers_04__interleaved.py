# mistake: features interleaved
toy_share_1 = [0.5, 2.0]
toy_output = [8.5, 0.5]
