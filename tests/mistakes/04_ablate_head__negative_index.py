# mistake: index with a minus
import torch


def ablate_head(heads, W_o, i):
    kept = heads.clone()
    kept[:, -i] = 0
    return torch.nn.functional.linear(torch.cat(kept.unbind(1), -1), W_o.weight, W_o.bias)
