# mistake: mask ignored or turned round
causes = {"A": "view-only split", "B": "dropout always on", "C": "scaled by the root of d_model", "D": "mask ignored"}
