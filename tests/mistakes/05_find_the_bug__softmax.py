# mistake: a symptom that this cause cannot have
causes = {"A": "view-only split", "B": "dropout always on", "C": "softmax over the queries", "D": "mask turned round"}
