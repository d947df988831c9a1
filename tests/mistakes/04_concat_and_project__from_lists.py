# mistake: probe: no gradient
import torch


def concat_and_project(heads, W_O):
    rows = torch.tensor(heads.tolist())
    return torch.cat(rows.unbind(1), dim=-1) @ W_O
