# mistake: probe: allows too little
import torch


def padding_mask(lengths, seq_k):
    return (torch.arange(seq_k)[None] == lengths[:, None] - 1)[:, None, None]
