# mistake: a cause from outside the list
causes = {"A": "wrong split", "B": "dropout always on", "C": "scaled by the root of d_model", "D": "mask turned round"}
