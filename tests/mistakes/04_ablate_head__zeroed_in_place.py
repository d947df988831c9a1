# mistake: zeroed in place
import torch


def ablate_head(heads, W_o, i):
    d_v = heads.shape[3]
    with torch.no_grad():
        W_o.weight[:, i * d_v:(i + 1) * d_v] = 0
    return W_o(heads.transpose(1, 2).flatten(2))
