# mistake: own error
import torch


def ablate_head(heads, W_o, i):
    kept = [heads[:, k] for k in range(heads.shape[1]) if k != i]
    return W_o(torch.cat(kept, dim=-1))
