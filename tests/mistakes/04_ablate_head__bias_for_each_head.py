# mistake: bias added for each head
import torch


def ablate_head(heads, W_o, i):
    output = 0
    for k in range(heads.shape[1]):
        if k != i:
            alone = torch.zeros_like(heads)
            alone[:, k] = heads[:, k]
            output = output + W_o(alone.transpose(1, 2).flatten(2))
    return output
