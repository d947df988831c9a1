# style: weights changed and put back
import torch


def ablate_head(heads, W_o, i):
    d_v = heads.shape[3]
    before = W_o.weight.detach().clone()
    with torch.no_grad():
        W_o.weight[:, i * d_v:(i + 1) * d_v] = 0
        output = W_o(heads.transpose(1, 2).flatten(2))
        W_o.weight.copy_(before)
    return output
