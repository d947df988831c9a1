# mistake: a symptom that this cause cannot have
causes = {"A": "mask ignored", "B": "mask ignored", "C": "mask ignored", "D": "mask ignored"}
