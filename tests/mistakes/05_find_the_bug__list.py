# mistake: probe: form
causes = ["view-only split", "dropout always on", "scaled by the root of d_model", "mask turned round"]
