# mistake: rest closed up
import torch


def ablate_head(heads, W_o, i):
    kept = [heads[:, k] for k in range(heads.shape[1]) if k != i]
    kept.append(torch.zeros_like(heads[:, i]))
    return W_o(torch.cat(kept, dim=-1))
