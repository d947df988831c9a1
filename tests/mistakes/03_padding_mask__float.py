# mistake: probe: another dtype
import torch


def padding_mask(lengths, seq_k):
    places = torch.arange(seq_k)
    return (places < lengths[:, None])[:, None, None].float()
