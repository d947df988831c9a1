"""Grading notebooks: what a hand-in goes through before, while and after it runs."""
