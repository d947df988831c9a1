# mistake: probe: shape: one size differs
import torch


def padding_mask(lengths, seq_k):
    places = torch.arange(int(lengths.max()) - 1)
    return (places < lengths[:, None])[:, None, None]
