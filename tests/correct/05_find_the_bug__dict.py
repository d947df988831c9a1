# style: a dict
causes = {"A": "view-only split", "B": "dropout always on", "C": "scaled by the root of d_model", "D": "mask turned round"}
