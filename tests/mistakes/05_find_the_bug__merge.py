# mistake: split and merge confused
causes = {"A": "merge without moving the head axis", "B": "dropout always on", "C": "scaled by the root of d_model", "D": "mask turned round"}
