# style: filled in one by one
causes = dict.fromkeys("DCBA")
causes["A"] = "view-only split"
causes["B"] = "dropout always on"
causes["C"] = "scaled by the root of d_model"
causes["D"] = "mask turned round"
