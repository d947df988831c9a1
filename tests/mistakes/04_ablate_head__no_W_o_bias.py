# mistake: bias lost
import torch


def ablate_head(heads, W_o, i):
    kept = torch.cat([heads[:, :i], torch.zeros_like(heads[:, i:i + 1]), heads[:, i + 1:]], 1)
    return torch.einsum("bhnd,fhd->bnf", kept, W_o.weight.unflatten(1, (heads.shape[1], -1)))
