# mistake: probe: one for all
import torch


def padding_mask(lengths, seq_k):
    shortest = lengths.min()
    return (torch.arange(seq_k) < shortest).repeat(len(lengths), 1)[:, None, None, :]
