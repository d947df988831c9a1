# mistake: probe: one for all
import torch


def padding_mask(lengths, seq_k):
    places = torch.arange(seq_k)
    return (places < lengths[0]).expand(len(lengths), 1, 1, seq_k)
