# mistake: two axes only
import torch


def padding_mask(lengths, seq_k):
    places = torch.arange(seq_k)
    return places < lengths[:, None]
