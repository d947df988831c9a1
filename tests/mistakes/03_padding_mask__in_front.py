# mistake: padding in front
import torch


def padding_mask(lengths, seq_k):
    places = torch.arange(seq_k)
    return (places >= seq_k - lengths[:, None])[:, None, None]
