# mistake: not attempted
causes = {"A": "view-only split", "B": "dropout always on", "C": None, "D": None}
