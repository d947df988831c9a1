# mistake: probe: allows too little
import torch


def padding_mask(lengths, seq_k):
    k = torch.arange(seq_k)
    return ((k > 0) & (k < lengths[:, None]))[:, None, None]
