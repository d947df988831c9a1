# mistake: probe: permuted
import torch


def padding_mask(lengths, seq_k):
    places = torch.arange(seq_k)
    lengths.copy_(lengths.sort().values)
    return (places < lengths[:, None])[:, None, None]
